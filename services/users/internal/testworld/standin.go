package testworld

import (
	"context"
	"slices"
	"strings"
	"testing"

	"herald/shared/gen/fault/projectsfault"
	idpv1 "herald/shared/gen/herald/idp/v1"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// Idps is a double of the service idp. The organization org has the providers company, school, which admits one tenant
// only, and staff, whose addresses are verified.
type Idps struct {
	idpv1.UnimplementedIdpsServer
	testkit.Unguarded
	Org string
}

// ResolveIdps implements idpv1.IdpsServer.
func (i *Idps) ResolveIdps(_ context.Context, r *idpv1.ResolveIdpsRequest) (*idpv1.ResolveIdpsResponse, error) {
	found, tenant := &idpv1.ResolveIdpsResponse{}, "School.example"
	for _, known := range []*idpv1.Idp{
		{Id: "company"}, {Id: "staff", Directory: &idpv1.DirectoryConfig{EmailVerified: true}},
		{Id: "school", Directory: &idpv1.DirectoryConfig{Tenant: &idpv1.DirectoryTenant{TenantId: &tenant}}},
	} {
		if r.OrgId == i.Org && slices.Contains(r.IdpIds, known.Id) {
			found.Idps = append(found.Idps, known)
		}
	}
	return found, nil
}

// ReadExpirations implements idpv1.IdpsServer: nothing of the providers expires.
func (*Idps) ReadExpirations(
	context.Context, *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	return &heraldv1.ReadExpirationsResponse{}, nil
}

// NewLinkedWorld returns a world beside which a stand-in for the service idp runs.
func NewLinkedWorld(t *testing.T) (*World, *Idps) {
	t.Helper()
	w := New(t)
	known := &Idps{Org: w.OrgID}
	testkit.Serve(t, w.Ground, "idp", known, &idpv1.Idps_ServiceDesc)
	return w, known
}

// Linked returns an import of a person with accounts at providers, written provider/account.
func Linked(name string, accounts ...string) *usersv1.ImportHumanUserRequest {
	r := Minimal(name)
	for _, a := range accounts {
		idp, account, _ := strings.Cut(a, "/")
		r.Idps = append(r.Idps, &usersv1.IdpLink{ConfigId: idp, ExternalUserId: account, DisplayName: "of " + account})
	}
	return r
}

// Links returns a user's accounts, written provider/account, the newest last.
func (w *World) Links(ctx context.Context, userID string) (all []string) {
	w.Helper()
	r, err := w.Gateway.SearchUserIdpLinks(ctx, &usersv1.SearchUserIdpLinksRequest{
		UserId: userID, Query: &heraldv1.ListQuery{Asc: true},
	})
	if err != nil {
		w.Fatal(err)
	}
	for _, l := range r.Result {
		all = append(all, l.IdpId+"/"+l.ExternalUserId)
	}
	return all
}

// FindTaken implements projectsv1.InternalServer. The shop has one application.
func (s *Shop) FindTaken(_ context.Context, r *projectsv1.FindTakenRequest) (*projectsv1.FindTakenResponse, error) {
	taken := func(id string) bool { return id == "shop" || id == "till" }
	return &projectsv1.FindTakenResponse{Ids: slices.DeleteFunc(r.Ids, func(id string) bool { return !taken(id) })}, nil
}

// Shop is a double of the service projects with one project, which runs beside each world.
type Shop struct {
	projectsv1.UnimplementedInternalServer
	OrgID string
	// Expires answers ReadExpirations; nil if nothing expires.
	Expires func(*heraldv1.ReadExpirationsRequest) (*heraldv1.ReadExpirationsResponse, error)
}

// ResolveProject implements projectsv1.InternalServer.
func (s *Shop) ResolveProject(
	_ context.Context, r *projectsv1.ResolveProjectRequest,
) (*projectsv1.ResolveProjectResponse, error) {
	if r.OrgId != s.OrgID || r.ProjectId != "shop" {
		return nil, projectsfault.ErrProjectNotFound
	}
	return &projectsv1.ResolveProjectResponse{}, nil
}

// ReadExpirations implements projectsv1.InternalServer.
func (s *Shop) ReadExpirations(
	_ context.Context, r *heraldv1.ReadExpirationsRequest,
) (*heraldv1.ReadExpirationsResponse, error) {
	if s.Expires == nil {
		return &heraldv1.ReadExpirationsResponse{}, nil
	}
	return s.Expires(r)
}
