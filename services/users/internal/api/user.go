package api

import (
	"context"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// CreateHumanUser creates a human user, who must change an initial password.
func (u Users) CreateHumanUser(
	ctx context.Context, r *usersv1.CreateHumanUserRequest,
) (*usersv1.CreateHumanUserResponse, error) {
	n, err := u.human(ctx, &usersv1.HumanUserData{
		UserName: r.UserName, Profile: r.Profile, Email: r.Email, Phone: r.Phone,
		Password: r.InitialPassword, PasswordChangeRequired: true,
	})
	if err != nil {
		return nil, err
	}
	n.ID = resource.NewID()
	mail := initMail(u.settle(&n))
	record, err := u.Store.CreateUser(ctx, n, &usersv1.HumanCreated{State: usersv1.UserState(n.State), InitMail: mail})
	if err != nil {
		return nil, err
	}
	return &usersv1.CreateHumanUserResponse{
		UserId: n.ID, Details: resource.Details(record, n.OrgID), InitMail: mail,
	}, nil
}

// settle sets the state of a new user and, if a mail is needed, its code. It returns the kind of
// the mail, or "".
func (u Users) settle(n *store.NewUser) domain.Kind {
	kind := n.Settle(len(n.IdpLinks) > 0)
	if kind != "" {
		n.Code = u.newCode(kind, n.ID)
	}
	return kind
}

// initMail returns whether the mail to a new user is the initialize-user mail.
func initMail(kind domain.Kind) usersv1.InitMail {
	if kind == domain.KindInit {
		return usersv1.InitMail_INIT_MAIL_QUEUED
	}
	return usersv1.InitMail_INIT_MAIL_NOT_NEEDED
}

// GetUser reads a user of the organization acted on.
func (u Users) GetUser(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	found, err := u.Store.User(ctx, orgID(ctx), r.UserId)
	if err != nil {
		return nil, err
	}
	return &usersv1.GetUserResponse{User: user(found)}, nil
}

// GetMyUser reads the caller.
func (u Users) GetMyUser(ctx context.Context, _ *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	c := caller.From(ctx)
	found, err := u.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	if err != nil {
		return nil, err
	}
	return &usersv1.GetMyUserResponse{User: user(found), HasPassword: found.PasswordHash != ""}, nil
}

// IsUserUnique reports whether a login name is free in the whole instance.
func (u Users) IsUserUnique(
	ctx context.Context, r *usersv1.IsUserUniqueRequest,
) (*usersv1.IsUserUniqueResponse, error) {
	free, err := u.Store.UserNameFree(ctx, r.UserName)
	return &usersv1.IsUserUniqueResponse{IsUnique: free}, err
}

// SearchUsers lists the users of the organization acted on.
func (u Users) SearchUsers(ctx context.Context, r *usersv1.SearchUsersRequest) (*usersv1.SearchUsersResponse, error) {
	p, err := search.Bounds(r.Query, u.MaxLimit)
	if err != nil {
		return nil, err
	}
	query := u.Store.Users(orgID(ctx))
	for _, q := range r.Queries {
		filterUsers(query, q)
	}
	list, err := u.Store.SearchUsers(ctx, query, p)
	if err != nil {
		return nil, err
	}
	return &usersv1.SearchUsersResponse{Details: list.Details(), Result: search.Each(list.Rows, user)}, nil
}

func filterUsers(query *search.Query, q *usersv1.UserFilter) {
	if f := q.UserNameQuery; f != nil {
		query.Text(store.UserName, f.Method, f.UserName)
	}
	if f := q.FirstNameQuery; f != nil {
		query.Text(store.FirstName, f.Method, f.FirstName)
	}
	if f := q.LastNameQuery; f != nil {
		query.Text(store.LastName, f.Method, f.LastName)
	}
	if f := q.DisplayNameQuery; f != nil {
		query.Text(store.DisplayName, f.Method, f.DisplayName)
	}
	if f := q.EmailQuery; f != nil {
		query.Text(store.Email, f.Method, f.Email)
	}
	if f := q.StateQuery; f != nil {
		query.Where("state = ?", f.State)
	}
	if f := q.TypeQuery; f != nil {
		query.Where("type = ?", f.Type)
	}
}

func user(u domain.User) *usersv1.User {
	out := &usersv1.User{
		Id: u.ID, Details: resource.Details(u.Record, u.OrgID), State: usersv1.UserState(u.State),
		UserName: u.UserName, LoginNames: []string{u.UserName}, PreferredLoginName: u.UserName,
	}
	if u.Type == domain.Machine {
		out.Type = &usersv1.User_Machine{Machine: machine(u)}
		return out
	}
	h := &usersv1.Human{
		Profile: &usersv1.Profile{
			FirstName: u.FirstName, LastName: u.LastName, NickName: u.NickName, DisplayName: u.DisplayName,
			PreferredLanguage: u.PreferredLanguage, Gender: usersv1.Gender(u.Gender),
		},
		Email: &usersv1.Email{Email: u.Email, IsEmailVerified: u.EmailVerified},
	}
	if u.Phone != "" {
		h.Phone = &usersv1.Phone{Phone: u.Phone, IsPhoneVerified: u.PhoneVerified}
	}
	out.Type = &usersv1.User_Human{Human: h}
	return out
}
