package contract_test

import (
	"slices"
	"strings"
	"testing"

	"herald/shared/contract"
)

// A method has the faults of its option and those of what protects it, and no others.
func TestFaultsFollowFromTheContract(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, has, lacks string }{
		{"Users/GetUser", "USER_NOT_FOUND NOT_FOUND PERMISSION_DENIED INSUFFICIENT_SCOPE QUERY_MALFORMED INTERNAL",
			"OUTCOME_UNKNOWN ESCALATION FRESH_LOGIN_REQUIRED JSON_MALFORMED LIMIT_EXCEEDED"},
		{"Users/SearchUsers", "LIMIT_EXCEEDED JSON_MALFORMED", "NOT_FOUND OUTCOME_UNKNOWN QUERY_MALFORMED"},
		{"Users/LockUser", "USER_ALREADY_LOCKED ESCALATION OUTCOME_UNKNOWN", "FRESH_LOGIN_REQUIRED LIMIT_EXCEEDED"},
		{"Credentials/UpdateMyPassword", "APP_NOT_TRUSTED FRESH_LOGIN_REQUIRED PASSWORD_WRONG", "ESCALATION"},
		{"Internal/ResolveToken", "TOKEN_INVALID PERMISSION_DENIED", "INSUFFICIENT_SCOPE BODY_TOO_LARGE"},
	} {
		t.Run(c.method, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(methods, func(m contract.Method) bool {
				return m.Procedure() == "/herald.users.v1."+c.method
			})
			if i < 0 {
				t.Fatal("there is no such method")
			}
			for id := range strings.FieldsSeq(c.has) {
				if !slices.Contains(methods[i].Faults, id) {
					t.Errorf("%s is missing in %s", id, methods[i].Faults)
				}
			}
			for id := range strings.FieldsSeq(c.lacks) {
				if slices.Contains(methods[i].Faults, id) {
					t.Errorf("%s is in %s", id, methods[i].Faults)
				}
			}
		})
	}
}
