package account

import (
	"net/http"
	"slices"

	"herald/services/auth/internal/domain"
)

func (p *Pages) sessionRows(v visit) (rows []row, err error) {
	all, err := p.Sessions.All(v.Context(), v.session)
	for _, s := range all {
		lines := append([]line{{Key: "sessions.since", At: s.AuthTime}}, methods(s)...)
		rows = append(rows, row{id: s.ID, Title: domain.Browser(s.Agent), Lines: append(lines,
			line{Key: "sessions.used", At: s.UsedAt}, line{Key: "sessions.address", Text: s.Client},
		), Actions: []link{{v.address("sessions/end", "id", s.ID), "sessions.end"}}})
	}
	return rows, err
}

// methods says how the person has authenticated: with a password or an account at a provider, and with a code.
func methods(s domain.Session) (lines []line) {
	switch {
	case s.Provider() != "":
		lines = append(lines, line{Key: "sessions.idp"})
	case s.Own():
		lines = append(lines, line{Key: "sessions.pwd"})
	}
	if slices.Contains(s.AMR, domain.AMROTP) {
		lines = append(lines, line{Key: "sessions.otp"})
	}
	return lines
}

// sessions lists the sessions of the person, beginning with that of the browser.
func (p *Pages) sessions(w http.ResponseWriter, v visit) error {
	rows, err := p.sessionRows(v)
	var shown list
	for _, one := range rows {
		if one.id == v.session.ID {
			one.Actions, one.Lines = nil, append([]line{{Key: "sessions.this"}}, one.Lines...)
			shown.Rows = append([]row{one}, shown.Rows...)
			continue
		}
		shown.Rows = append(shown.Rows, one)
	}
	if len(rows) > 1 {
		shown.Address, shown.ActionKey = v.address("sessions/others"), "sessions.others"
	}
	return p.writeList(w, v, "sessions", shown, err)
}

func (p *Pages) endSession(w http.ResponseWriter, v visit) error {
	return p.done(w, v, "sessions", p.Sessions.EndOne(v.as(), v.session, v.id()))
}

func (p *Pages) endOthers(w http.ResponseWriter, v visit) error {
	return p.done(w, v, "sessions", p.Sessions.EndOthers(v.as(), v.session))
}
