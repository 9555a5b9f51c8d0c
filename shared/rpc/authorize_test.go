package rpc

import (
	"testing"

	"herald/shared/caller"
	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// No contract has public methods yet, or methods that need roles on the project in the request.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	method := usersv1.File_herald_users_v1_users_proto.Services().Get(0).Methods().Get(0)
	public := contract.Method{MethodDescriptor: method, Access: &heraldv1.Access{Public: true}}
	project := contract.Method{
		MethodDescriptor: method, Access: &heraldv1.Access{Permission: "project.write", Project: "project_id"},
	}
	owner := caller.Caller{UserID: "u", OrganizationID: "o", Memberships: []caller.Membership{
		{OrganizationID: "o", ProjectID: "p", Roles: []string{"PROJECT_OWNER"}},
	}}
	elsewhere := owner
	elsewhere.OrganizationID = "other"
	for name, c := range map[string]struct {
		method  contract.Method
		caller  caller.Caller
		project string
		want    *fault.Fault
	}{
		"public, nobody":                {public, caller.Caller{}, "", nil},
		"public, a user":                {public, owner, "", nil},
		"public, a service":             {public, caller.Caller{Service: "auth"}, "", nil},
		"project, its owner":            {project, owner, "p", nil},
		"project, another's owner":      {project, owner, "q", fault.ErrPermissionDenied},
		"project, none named":           {project, owner, "", fault.ErrPermissionDenied},
		"project, another organization": {project, elsewhere, "p", fault.ErrPermissionDenied},
		"project, nobody":               {project, caller.Caller{}, "p", fault.ErrUnauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			err := authorize(c.method, c.caller, c.project)
			if c.want == nil && err != nil || c.want != nil && !c.want.Is(err) {
				t.Errorf("got %v", err)
			}
		})
	}
}
