package imports

import (
	"context"
	"maps"
	"slices"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/gen/fault/usersfault"
)

// unhashed stands for the hash of a password that is not hashed yet.
const unhashed = domain.Hidden("*")

// importRounds is how often rows are tried again whose id or name was taken by a user who was then
// removed.
const importRounds = 10

// importAll writes the new users. Of rows with the same id or login name it writes the first one,
// and then compares the others with it.
func (s Server) importAll(ctx context.Context, orgID string, all []*rowState) error {
	if err := s.hashPasswords(ctx, orgID, all); err != nil {
		return err
	}
	for range importRounds {
		all = rowsWith(all, (*rowState).pending)
		if len(all) == 0 {
			return nil
		}
		first, later := distinct(all)
		all = nil
		for _, kind := range []string{humanRow, machineRow} {
			conflicts, err := s.write(ctx, orgID, rowsWith(first, func(a *rowState) bool { return a.kind == kind }))
			if err != nil {
				return err
			}
			all = append(all, conflicts...)
		}
		all = append(all, later...)
		if err := s.compare(ctx, orgID, all); err != nil {
			return err
		}
	}
	for _, a := range rowsWith(all, (*rowState).pending) {
		a.err = usersfault.ErrUserNameTaken // as in every round
	}
	return nil
}

// distinct returns the rows whose id and login name no earlier row has, and the other rows.
func distinct(all []*rowState) (first, later []*rowState) {
	ids, names := map[string]bool{}, map[string]bool{}
	for _, a := range all {
		if ids[a.id] || names[a.name] {
			later = append(later, a)
		} else {
			first = append(first, a)
		}
		ids[a.id], names[a.name] = true, true
	}
	return first, later
}

func rowsWith(all []*rowState, condition func(*rowState) bool) (found []*rowState) {
	for _, a := range all {
		if condition(a) {
			found = append(found, a)
		}
	}
	return found
}

// write writes users of one kind and returns those whose id or login name is taken. If the
// statement is refused because of a row, it tries again without that row.
func (s Server) write(ctx context.Context, orgID string, all []*rowState) (conflicts []*rowState, err error) {
	if len(all) == 0 {
		return nil, nil
	}
	users := make([]store.ImportRow, len(all))
	for i, a := range all {
		users[i] = store.ImportRow{NewUser: a.user, Imported: a.event}
	}
	written, err := s.Store.ImportUsers(ctx, orgID, users)
	if _, own := domain.Refusal(err); err != nil && own {
		return s.writeWithout(ctx, orgID, all, err)
	}
	if err != nil {
		return nil, err
	}
	for i, a := range all {
		if !written[i] {
			conflicts = append(conflicts, a)
		}
	}
	return conflicts, nil
}

// writeWithout writes users of whom at least one makes the statement fail, with the fault refused.
// It leaves out those whose id, name or link is taken. If there are none, it writes each half by
// itself.
func (s Server) writeWithout(
	ctx context.Context, orgID string, all []*rowState, refused error,
) (conflicts []*rowState, err error) {
	if len(all) == 1 {
		all[0].err = refused
		return nil, nil
	}
	if err := s.compare(ctx, orgID, all); err != nil {
		return nil, err
	}
	left := rowsWith(all, (*rowState).pending)
	if len(left) < len(all) {
		return s.write(ctx, orgID, left)
	}
	conflicts, err = s.write(ctx, orgID, all[:len(all)/2])
	if err != nil {
		return nil, err
	}
	rest, err := s.write(ctx, orgID, all[len(all)/2:])
	return append(conflicts, rest...), err
}

// hashPasswords hashes the passwords of new users. It compares the rows before, because hashing
// takes longer than everything else.
func (s Server) hashPasswords(ctx context.Context, orgID string, all []*rowState) error {
	typed := rowsWith(all, func(a *rowState) bool { return a.pending() && a.user.PasswordHash == unhashed })
	if len(typed) == 0 {
		return nil
	}
	if err := s.compare(ctx, orgID, typed); err != nil {
		return err
	}
	for _, a := range rowsWith(typed, (*rowState).pending) {
		hash, err := s.Passwords.Hash(ctx, a.password)
		if err != nil {
			return err
		}
		a.user.PasswordHash = domain.Hidden(hash.Encoded())
	}
	return nil
}

// above returns which of some users of an organization the caller may not act on. An import with such an id is not
// compared with the first import, because the comparison would show whether a password is right.
func (s Server) above(ctx context.Context, orgID string, ids []string) (map[string]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	members, err := s.Store.MembershipsOf(ctx, orgID, ids)
	above := map[string]bool{}
	for _, m := range members {
		if domain.CheckEscalation(caller.From(ctx).Memberships, orgID, m) != nil {
			above[m.UserID] = true
		}
	}
	return above, err
}

// compare decides rows whose id, login name or linked account is taken by an existing user or an
// earlier row.
func (s Server) compare(ctx context.Context, orgID string, all []*rowState) error {
	var ids, names []string
	var links []domain.IdpLink
	all = rowsWith(all, (*rowState).pending)
	if len(all) == 0 {
		return nil
	}
	for _, a := range all {
		ids, names, links = append(ids, a.id), append(names, a.name), append(links, a.user.IdpLinks...)
	}
	taken, err := s.Store.Taken(ctx, ids, names, links)
	if err != nil {
		return err
	}
	above, err := s.above(ctx, orgID, slices.Collect(maps.Keys(taken.IDs)))
	if err != nil {
		return err
	}
	for _, a := range all {
		first, there := taken.IDs[a.id]
		switch {
		case above[a.id]:
			a.err = usersfault.ErrUserIDTaken
		case there:
			a.err = first.Repeat(orgID, a.user.Digest)
			a.known = a.err == nil
		case taken.Names[a.name]:
			a.err = usersfault.ErrUserNameTaken
		case slices.ContainsFunc(a.user.IdpLinks, taken.Linked):
			a.err = usersfault.ErrIdpLinkTaken
		default:
			taken.Link(a.user.IdpLinks)
			taken.IDs[a.id] = domain.Known{OrgID: orgID, Digest: a.user.Digest}
			taken.Names[a.name] = true
		}
	}
	return nil
}
