package userstest

import (
	"context"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// Bulk returns an import of users of one organization.
func Bulk(orgID string, all ...*usersv1.ImportHumanUserRow) *usersv1.ImportRequest {
	return &usersv1.ImportRequest{DataOrgs: &usersv1.ImportData{Orgs: []*usersv1.ImportOrg{
		{OrgId: orgID, HumanUsers: all},
	}}}
}

// Imported imports and returns the ids of the first organization and the errors by row.
func (w *World) Imported(ctx context.Context, r *usersv1.ImportRequest) ([]string, map[uint64]*usersv1.ImportError) {
	w.Helper()
	got, err := w.Gateway.ImportUsers(ctx, r)
	if err != nil {
		w.Fatal(err)
	}
	errs := map[uint64]*usersv1.ImportError{}
	for _, e := range got.Errors {
		errs[e.Row] = e
	}
	if len(got.Success.Orgs) == 0 {
		return nil, errs
	}
	return got.Success.Orgs[0].HumanUserIds, errs
}
