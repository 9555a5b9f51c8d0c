package internals_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	projectsv1 "herald/shared/gen/herald/projects/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// A key and the former secret of an application are listed until they end, for its organization.
func TestExpirationsOfApplications(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	key, err := c.AddAppKey(c.InA, &projectsv1.AddAppKeyRequest{
		ProjectId: c.Shop, AppId: c.Web.AppId, Type: heraldv1.KeyType_KEY_TYPE_JSON, PublicKey: testkit.PublicKey(),
		ExpirationDate: timestamppb.New(c.Now().Add(48 * time.Hour).Truncate(time.Second)),
	})
	c.Must(key, err)
	c.Must(c.GenerateOidcClientSecret(c.InA, &projectsv1.GenerateClientSecretRequest{
		ProjectId: c.Shop, AppId: c.Web.AppId, Overlap: durationpb.New(time.Hour),
	}))
	kinds := []heraldv1.ExpirationKind{
		heraldv1.ExpirationKind_EXPIRATION_KIND_CLIENT_SECRET, heraldv1.ExpirationKind_EXPIRATION_KIND_APPLICATION_KEY,
	}
	read := func(orgID string) []*heraldv1.Expiration {
		t.Helper()
		got, err := c.Internal("users").ReadExpirations(t.Context(), &heraldv1.ReadExpirationsRequest{
			OrgId: orgID, Until: timestamppb.New(c.Now().Add(72 * time.Hour)), Kinds: kinds, Limit: 10,
		})
		c.Must(got, err)
		return got.Result
	}
	all := read("org-a")
	if len(all) != 2 {
		t.Fatalf("%v", all)
	}
	for i, id := range []string{c.Web.AppId, key.KeyId} {
		testkit.Equal(t, all[i], &heraldv1.Expiration{
			Kind: kinds[i], Id: id, Name: "Web", OrganizationId: "org-a", OwnerId: c.Web.AppId,
			ExpirationDate: all[i].ExpirationDate,
		})
	}
	if got := read("org-b"); len(got) != 0 {
		t.Errorf("another organization: %v", got)
	}
	c.Forward(2 * time.Hour)
	if got := read(""); len(got) != 1 || got[0].Kind != kinds[1] {
		t.Errorf("after the end of the secret: %v", got)
	}
}
