package credentials_test

import (
	"testing"

	"herald/services/users/internal/testworld"
	"herald/shared/boot"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// The operator's quotas reach the database.
func TestQuotasOfTheOperator(t *testing.T) {
	t.Parallel()
	w := testworld.NewWith(t, testkit.Ground(t), boot.QuotaSettings{Quotas: "pats=1"})
	id := w.Machine(w.Admin, "robot")
	w.PAT(w.Admin, id)
	_, err := w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{UserId: id})
	testkit.Refused(t, err, "QUOTA_EXCEEDED")
}
