package account

import (
	"net/http"

	"herald/services/auth/internal/domain"
)

func (p *Pages) sessions(w http.ResponseWriter, v visit) {
	all, err := p.Sessions.All(v.Context(), v.session)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	var shown list
	for _, s := range all {
		if s.ID == v.session.ID {
			one := row{Title: domain.Browser(s.Agent), Lines: append([]line{{Key: "sessions.this"}}, used(s)...)}
			shown.Rows = append([]row{one}, shown.Rows...)
			continue
		}
		shown.Rows = append(shown.Rows, row{Title: domain.Browser(s.Agent), Lines: used(s),
			Address: v.address("sessions/end", "id", s.ID), ActionKey: "sessions.end"})
	}
	if len(all) > 1 {
		shown.Address, shown.ActionKey = v.address("sessions/others"), "sessions.others"
	}
	p.writeList(w, v, "sessions", shown)
}

// used returns when and from where a session was last used.
func used(s domain.Session) []line {
	return []line{{Key: "sessions.used", At: s.UsedAt}, {Key: "sessions.address", Text: s.Client}}
}

// askEnd asks before another session of the person is ended.
func (p *Pages) askEnd(w http.ResponseWriter, v visit) {
	all, err := p.Sessions.All(v.Context(), v.session)
	if err != nil {
		p.failed(w, v, err)
		return
	}
	for _, s := range all {
		if s.ID == v.id() {
			about := append([]line{{Text: domain.Browser(s.Agent)}}, used(s)...)
			p.confirm(w, v, "sessionend", "sessions.end", about...)
			return
		}
	}
	p.gone(w, v)
}

func (p *Pages) end(w http.ResponseWriter, v visit) {
	if err := p.Sessions.EndOne(v.as(), v.session, v.id()); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "sessions")
}

func (p *Pages) askEndOthers(w http.ResponseWriter, v visit) {
	p.confirm(w, v, "sessionsend", "sessions.others")
}

func (p *Pages) endOthers(w http.ResponseWriter, v visit) {
	if err := p.Sessions.EndOthers(v.as(), v.session); err != nil {
		p.failed(w, v, err)
		return
	}
	p.done(w, v, "sessions")
}
