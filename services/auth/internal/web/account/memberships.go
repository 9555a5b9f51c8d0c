package account

import (
	"cmp"
	"errors"
	"net/http"
	"slices"

	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// elsewhere returns the person's memberships in other organizations and their projects. Those that the person has not
// accepted give nothing.
func (p *Pages) elsewhere(v visit) (pending, active []row, err error) {
	found, err := p.Members.SearchMyMemberships(v.as(), &usersv1.SearchMyMembershipsRequest{})
	if err != nil {
		return nil, nil, err
	}
	all := slices.DeleteFunc(found.Result, func(m *usersv1.Membership) bool {
		from := m.Details.GetResourceOwner()
		return from == "" || from == v.session.OrgID // in the instance, or at home
	})
	var ids []string
	for _, m := range all {
		ids = append(ids, m.GetProjectId())
	}
	projects, err := p.Sessions.Cached.ProjectNames(v.Context(), ids)
	for _, m := range all {
		project := cmp.Or(projects[m.GetProjectId()], m.GetProjectId()) // one that was just removed has no name
		if m.State == usersv1.MembershipState_MEMBERSHIP_STATE_PENDING {
			pending = append(pending, membershipRow(v, m, project, "accept", "decline"))
		} else {
			active = append(active, membershipRow(v, m, project, "end"))
		}
	}
	return pending, active, err
}

func (p *Pages) pendingRows(v visit) ([]row, error) {
	pending, _, err := p.elsewhere(v)
	return pending, err
}

func (p *Pages) activeRows(v visit) ([]row, error) {
	_, active, err := p.elsewhere(v)
	return active, err
}

func membershipRow(v visit, m *usersv1.Membership, project string, actions ...string) row {
	shown := row{id: m.Id, Title: m.OrgName, Lines: []line{
		{Key: "memberships.roles", Roles: m.Roles},
		{Key: "memberships.since", At: m.Details.GetCreationDate().AsTime()},
	}}
	if project != "" {
		shown.Lines = append(shown.Lines, line{Key: "memberships.project", Text: project})
	}
	for _, a := range actions {
		shown.Actions = append(shown.Actions, link{v.address("memberships/"+a, "id", m.Id), "memberships." + a})
	}
	return shown
}

// memberships lists the person's memberships elsewhere, beginning with those that wait for an answer.
func (p *Pages) memberships(w http.ResponseWriter, v visit) error {
	pending, active, err := p.elsewhere(v)
	for i := range pending {
		pending[i].Lines = append([]line{{Key: "memberships.pending"}}, pending[i].Lines...)
	}
	return p.writeList(w, v, "memberships", list{Rows: append(pending, active...), EmptyKey: "memberships.none"}, err)
}

func (p *Pages) acceptMembership(w http.ResponseWriter, v visit) error {
	_, err := p.Members.AcceptMyMembership(v.as(), &usersv1.AcceptMyMembershipRequest{MembershipId: v.id()})
	if errors.Is(err, usersfault.ErrMembershipNotPending) { // sent twice, or accepted by the person's organization
		err = nil
	}
	return p.done(w, v, "memberships", err)
}

func (p *Pages) endMembership(w http.ResponseWriter, v visit) error {
	_, err := p.Members.RemoveMyMembership(v.as(), &usersv1.RemoveMyMembershipRequest{MembershipId: v.id()})
	return p.done(w, v, "memberships", err)
}
