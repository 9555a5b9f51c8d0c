package contract_test

import (
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func TestValidatePaths(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]proto.Message{
		"queries[1].userNameQuery.method": &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
			{UserNameQuery: &usersv1.UserNameQuery{}}, {UserNameQuery: &usersv1.UserNameQuery{Method: 99}},
		}},
		"queries[0]": &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{{}}},
		"roles":      &usersv1.AddMemberRequest{UserId: "u"},
		"metadata[0].key": &usersv1.HumanUserData{
			UserName: "u", Profile: &usersv1.Profile{FirstName: "f", LastName: "l"}, Email: &usersv1.Email{},
			Metadata: []*usersv1.Metadata{{}},
		},
	} {
		f, ok := errors.AsType[*fault.Fault](contract.Validate(m))
		if !ok || f.ID != "INVALID_ARGUMENT" {
			t.Fatalf("%s: %v", want, f)
		}
		if len(f.Fields) != 1 || f.Fields[0].Path != want {
			t.Errorf("fields %v, want %s", f.Fields, want)
		}
	}
	if err := contract.Validate(&usersv1.GetUserRequest{}); err != nil {
		t.Error(err)
	}
	if len(fault.ErrInvalid.Fields) != 0 {
		t.Error("the declared fault was altered")
	}
}

// Hostile case 35: names that look alike are one name, or none.
func TestValidateInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range "\u200b\u00ad\u202e\u2060\u200d\ufeff\ufe0f\u034f\u115f\u3164\uffa0\u180e\U000e0100\U000e0041" {
		m := &usersv1.CreateHumanUserRequest{
			UserName: "mi" + string(r) + "ni", Email: &usersv1.Email{Email: "mini@example.com"},
			Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse" + string(r)},
		}
		f := fault.From(contract.Validate(m))
		if f.ID != "INVALID_ARGUMENT" || f.Message != "userName: must hold no invisible characters; "+
			"profile.lastName: must hold no invisible characters" {
			t.Errorf("%U: %v", r, f)
		}
	}
	for _, name := range []string{"Mini", "Müller", "日本", "🙂", "a b", "é", "e\u0301", "李"} {
		if err := contract.Validate(&usersv1.CreateOrgRequest{Name: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}
