package api_test

import (
	"testing"

	"herald/services/idp/internal/testworld"
	"herald/shared/boot"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
)

// The operator's quotas reach the database.
func TestQuotasOfTheOperator(t *testing.T) {
	t.Parallel()
	config := testworld.Config
	config.QuotaSettings = boot.QuotaSettings{Quotas: "idps=1"}
	w := testworld.NewOn(t, testkit.Ground(t), config)
	w.Directory(w.InA, "first")
	_, err := w.CreateDirectoryIdp(w.InA, &idpv1.CreateDirectoryIdpRequest{
		Name: "second", ClientId: "herald", ClientSecret: "of second",
	})
	testkit.Refused(t, err, "QUOTA_EXCEEDED")
}
