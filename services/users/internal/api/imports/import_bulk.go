package imports

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
	"herald/shared/search"
)

// rowState is what is known of a row of an import while it is processed, also of a refused one.
type rowState struct {
	kind, id string
	// password is still to be hashed. hash is the one of the request. Either can be empty.
	password, hash string
	user           store.NewUser
	// name is the folded login name.
	name  string
	event proto.Message
	// known reports whether the row was imported already.
	known bool
	// err is the reason why the row is not imported.
	err error
}

// The kinds of rows.
const (
	humanRow   = "human_user"
	machineRow = "machine_user"
)

// pending reports whether the row is still to be imported.
func (a *rowState) pending() bool { return a.err == nil && !a.known }

// ImportUsers imports the users of organizations. It writes those of one organization in one
// statement. A row that is refused does not stop the others.
func (s Server) ImportUsers(ctx context.Context, r *usersv1.ImportRequest) (*usersv1.ImportResponse, error) {
	out := &usersv1.ImportResponse{Success: &usersv1.ImportSuccess{}}
	var errs importErrors
	err := s.eachOrg(ctx, r, &errs, s.makeOrg, func(org *usersv1.ImportOrg, all []*rowState) error {
		if err := s.importAll(ctx, org.OrgId, all); err != nil {
			return err
		}
		done := &usersv1.ImportedOrg{OrgId: org.OrgId}
		for _, a := range all {
			switch {
			case a.err != nil:
			case a.kind == humanRow:
				done.HumanUserIds = append(done.HumanUserIds, a.id)
			default:
				done.MachineUserIds = append(done.MachineUserIds, a.id)
			}
		}
		out.Success.Orgs = append(out.Success.Orgs, done)
		return nil
	})
	out.Errors = errs.list
	return out, err
}

// CheckImport reports what ImportUsers would do.
func (s Server) CheckImport(ctx context.Context, r *usersv1.ImportRequest) (*usersv1.CheckImportResponse, error) {
	out := &usersv1.CheckImportResponse{}
	var errs importErrors
	formats := map[string]*usersv1.HashFormat{}
	mayMake := func(context.Context, domain.Org) error { return nil }
	err := s.eachOrg(ctx, r, &errs, mayMake, func(org *usersv1.ImportOrg, all []*rowState) error {
		if err := s.compare(ctx, org.OrgId, all); err != nil {
			return err
		}
		for _, a := range all {
			countFormat(formats, a.hash)
			switch {
			case a.known:
				out.KnownUsers++
			case a.err == nil:
				out.NewUsers++
			}
			if a.pending() && a.user.Code != nil {
				out.Mails++
			}
		}
		return nil
	})
	for _, f := range formats {
		out.HashFormats = append(out.HashFormats, f)
	}
	out.Errors = errs.list
	return out, err
}

func countFormat(formats map[string]*usersv1.HashFormat, encoded string) {
	if encoded == "" {
		return
	}
	name, refused := password.Format(encoded)
	if formats[name] == nil {
		formats[name] = &usersv1.HashFormat{Format: name}
	}
	if refused {
		formats[name].Refused++
	} else {
		formats[name].Accepted++
	}
}

// importErrors collects the rows that are not imported, with the reasons.
type importErrors struct{ list []*usersv1.ImportError }

// add adds a row with the reason. It returns the error if it is not the row's own.
func (e *importErrors) add(of *usersv1.ImportError, err error) error {
	f, own := domain.Refusal(err)
	if !own {
		return err
	}
	of.Message, of.Reason = f.Message, f.ID
	e.list = append(e.list, of)
	return nil
}

// eachOrg checks the rows of every organization and calls do with them. It calls maker for an
// organization that does not exist and whose name is in the request. Afterwards it adds the refused
// rows to errs.
func (s Server) eachOrg(ctx context.Context, r *usersv1.ImportRequest, errs *importErrors,
	maker func(context.Context, domain.Org) error, do func(*usersv1.ImportOrg, []*rowState) error) error {
	for _, org := range r.DataOrgs.GetOrgs() {
		if !caller.From(ctx).CanIn("user.import", org.OrgId) {
			return rpc.Denied("user.import", org.OrgId)
		}
	}
	row := uint64(0)
	for _, org := range r.DataOrgs.GetOrgs() {
		missing := s.findOrg(ctx, org, errs, maker)
		var all []*rowState
		for _, row := range org.HumanUsers {
			a := &rowState{kind: humanRow, id: row.UserId, err: missing}
			if missing == nil {
				a.err = s.checkHuman(org.OrgId, row, a)
			}
			all = append(all, a)
		}
		for _, row := range org.MachineUsers {
			a := &rowState{kind: machineRow, id: row.UserId, err: missing}
			if missing == nil {
				a.err = s.checkMachine(org.OrgId, row, a)
			}
			all = append(all, a)
		}
		if missing == nil {
			if err := s.checkProviders(ctx, org.OrgId, all); err != nil {
				return err
			}
			if err := s.checkIDs(ctx, all); err != nil {
				return err
			}
			if err := do(org, all); err != nil {
				return err
			}
		}
		for _, a := range all {
			row++
			if a.err == nil {
				continue
			}
			about := &usersv1.ImportError{Type: a.kind, Id: a.id, Row: row, OrgId: org.OrgId}
			if err := errs.add(about, a.err); err != nil {
				return err
			}
		}
	}
	return nil
}

// findOrg finds the organization of an import, or calls maker to create it. It returns an error if
// there is none.
func (s Server) findOrg(ctx context.Context, org *usersv1.ImportOrg, errs *importErrors,
	maker func(context.Context, domain.Org) error) error {
	found, err := s.Store.Org(ctx, org.OrgId)
	about := &usersv1.ImportError{Type: "org", Id: org.OrgId, OrgId: org.OrgId}
	switch {
	case err == nil && (org.Org == nil || org.Org.Name == found.Name):
		return nil
	case err == nil:
		return errs.add(about, usersfault.ErrImportOrgDiffers)
	case !errors.Is(err, usersfault.ErrOrgNotFound) || org.Org == nil:
		return err
	case !caller.From(ctx).CanIn("org.create", org.OrgId):
		err = rpc.Denied("org.create", org.OrgId)
	default:
		err = maker(ctx, domain.Org{ID: org.OrgId, Name: org.Org.Name, State: domain.OrgActive})
	}
	if err == nil {
		return nil
	}
	if err := errs.add(about, err); err != nil {
		return err
	}
	return usersfault.ErrOrgNotFound
}

func (s Server) makeOrg(ctx context.Context, o domain.Org) error {
	_, err := s.MakeOrg(ctx, o, "")
	return err
}

// checkHuman checks a row by the rules of new users and fills a. It does not hash a password.
func (s Server) checkHuman(orgID string, row *usersv1.ImportHumanUserRow, a *rowState) error {
	a.password, a.hash = row.User.GetPassword(), row.User.GetHashedPassword().GetValue()
	if err := checkRow(row, row.UserId); err != nil {
		return err
	}
	var err error
	if a.user, err = base.NewHuman(orgID, row.User); err != nil {
		return err
	}
	fields := digestFields(a.user.User, row.User)
	state := domain.UserState(row.State)
	if state == domain.UserInactive || state == domain.UserLocked {
		fields["state"] = nonzero(row.State.Number())
	}
	s.identify(a, fields)
	if err := s.bringOTP(&a.user, row.User); err != nil {
		return err
	}
	if a.password != "" {
		a.user.PasswordHash = unhashed
	}
	kind := a.user.SettleAs(state, len(a.user.IdpLinks) > 0)
	if kind != "" {
		a.user.Code = s.NewCode(kind, a.id)
	}
	a.event = base.Imported(&a.user, kind)
	return nil
}

// checkMachine checks a row by the rules of new machine users and fills a.
func (s Server) checkMachine(orgID string, row *usersv1.ImportMachineUserRow, a *rowState) error {
	if err := checkRow(row, row.UserId); err != nil {
		return err
	}
	a.user = store.NewUser{User: domain.NewMachine(orgID, row.UserId, base.MachineData(row.User))}
	s.identify(a, map[string]string{
		"userName": row.User.UserName, "name": row.User.Name, "description": row.User.Description,
		"accessTokenType": fmt.Sprint(a.user.AccessTokenType),
	})
	a.event = &usersv1.MachineCreated{State: usersv1.UserState(a.user.State)}
	return nil
}

func checkRow(row proto.Message, userID string) error {
	if err := contract.Validate(row); err != nil {
		return err
	}
	if userID == "" {
		return usersfault.ErrUserIDInvalid
	}
	return domain.CheckUserID(userID)
}

// identify sets the id of a new user, and the name and digest with which other users are compared.
func (s Server) identify(a *rowState, fields map[string]string) {
	a.name = search.Fold(a.user.UserName)
	a.user.ID, a.user.Digest = a.id, domain.NewDigest(s.Lasting, a.id, fields)
}

// checkIDs refuses rows with the id of a project, an application or a client.
func (s Server) checkIDs(ctx context.Context, all []*rowState) error {
	pending := rowsWith(all, (*rowState).pending)
	taken, err := s.elsewhere(ctx, search.Each(pending, func(a *rowState) string { return a.id }))
	for _, a := range pending {
		if taken[a.id] {
			a.err = usersfault.ErrUserIDTaken
		}
	}
	return err
}

// checkProviders refuses rows with links to providers that the organization does not have. It does
// not refuse a user who was imported already, because the provider may have been removed since.
func (s Server) checkProviders(ctx context.Context, orgID string, all []*rowState) error {
	var links []domain.IdpLink
	for _, a := range all {
		if a.pending() {
			links = append(links, a.user.IdpLinks...)
		}
	}
	known, err := s.KnownIdps(ctx, orgID, links)
	if err != nil {
		return err
	}
	refused := map[*rowState]error{}
	var doubtful []*rowState
	for _, a := range all {
		if err := domain.CheckIdpLinks(a.user.IdpLinks, known); a.pending() && err != nil {
			refused[a], doubtful = err, append(doubtful, a)
		}
		if domain.VerifiesEmail(a.user.IdpLinks, known) {
			a.user.EmailVerified, a.user.Code, a.user.OwedMail = true, nil, "" // as Settle does with a verified address
			a.event = base.Imported(&a.user, "")
		}
	}
	if err := s.compare(ctx, orgID, doubtful); err != nil {
		return err
	}
	for _, a := range doubtful {
		if a.pending() {
			a.err = refused[a]
		}
	}
	return nil
}
