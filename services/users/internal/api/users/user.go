// Package users answers the requests of the service Users.
package users

import (
	"context"

	"herald/services/users/internal/api/base"
	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/search"
)

// Server implements the service.
type Server struct {
	base.Base
}

// CreateHumanUser creates a human user, who must change an initial password.
func (s Server) CreateHumanUser(
	ctx context.Context, r *usersv1.CreateHumanUserRequest,
) (*usersv1.CreateHumanUserResponse, error) {
	n, err := s.Human(ctx, &usersv1.HumanUserData{
		UserName: r.UserName, Profile: r.Profile, Email: r.Email, Phone: r.Phone,
		Password: r.InitialPassword, PasswordChangeRequired: true,
	})
	if err != nil {
		return nil, err
	}
	n.ID = resource.NewID()
	mail := base.InitMail(s.Settle(&n))
	n.EmailOutranked = n.State == domain.UserActive && !caller.From(ctx).Can("user.credential.write", "")
	record, err := s.Store.CreateUser(ctx, n, &usersv1.HumanCreated{State: usersv1.UserState(n.State), InitMail: mail})
	return &usersv1.CreateHumanUserResponse{
		UserId: n.ID, Details: resource.Details(record, n.OrgID), InitMail: mail,
	}, err
}

// GetUser reads a user of the organization acted on.
func (s Server) GetUser(ctx context.Context, r *usersv1.GetUserRequest) (*usersv1.GetUserResponse, error) {
	found, err := s.Store.User(ctx, base.OrgID(ctx), r.UserId)
	return &usersv1.GetUserResponse{User: s.Message(found)}, err
}

// GetMyUser reads the caller.
func (s Server) GetMyUser(ctx context.Context, _ *usersv1.GetMyUserRequest) (*usersv1.GetMyUserResponse, error) {
	c := caller.From(ctx)
	found, err := s.Store.User(ctx, c.HomeOrganizationID, c.UserID)
	return &usersv1.GetMyUserResponse{User: s.Message(found), HasPassword: found.PasswordHash != ""}, err
}

// IsUserUnique reports whether a login name is free in the whole instance.
func (s Server) IsUserUnique(
	ctx context.Context, r *usersv1.IsUserUniqueRequest,
) (*usersv1.IsUserUniqueResponse, error) {
	free, err := s.Store.UserNameFree(ctx, r.UserName)
	return &usersv1.IsUserUniqueResponse{IsUnique: free}, err
}

// SearchUsers lists the users of the organization acted on.
func (s Server) SearchUsers(ctx context.Context, r *usersv1.SearchUsersRequest) (*usersv1.SearchUsersResponse, error) {
	p, err := search.Bounds(r.Query, s.MaxLimit)
	if err != nil {
		return nil, err
	}
	query := s.Store.Users(base.OrgID(ctx))
	for _, q := range r.Queries {
		filterUsers(query, q)
	}
	list, err := s.Store.SearchUsers(ctx, query, p)
	return &usersv1.SearchUsersResponse{Details: list.Details(), Result: search.Each(list.Rows, s.Message)}, err
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
