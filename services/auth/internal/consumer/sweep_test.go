package consumer_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/auth"
	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/store"
	"herald/services/auth/internal/testworld"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// What removed users, organizations and applications had is deleted, and nothing else.
func TestRemoved(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service, id string
		removed     proto.Message
		left        []string
	}{
		"user":         {"users", "u1", &usersv1.UserRemoved{}, []string{"of app1", "of o1", "of o2"}},
		"organization": {"users", "o1", &usersv1.OrgRemoved{}, []string{"of app1", "of o2"}},
		"application": {"projects", "app1", &projectsv1.ApplicationRemoved{ProjectId: "p1"},
			[]string{"of o1", "of o2", "of u1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testkit.Ground(t)
			s := testworld.Kit.Open(t, g)
			testworld.ShareKeys(t, s)
			if err := auth.New(t.Context(), s, testworld.Config()); err != nil {
				t.Fatal(err)
			}
			testkit.Run(t, s)
			db := store.New(s.Journal)
			for _, a := range []domain.Authorization{
				{ID: "of u1", UserID: "u1", OrgID: "o1", ClientID: "u1"},
				{ID: "of o1", UserID: "u2", OrgID: "o1", ClientID: "app2"},
				{ID: "of o2", UserID: "u3", OrgID: "o2", ClientID: "app2"},
				{ID: "of app1", ClientID: "app1", ClientOrgID: "o1"},
			} {
				a.Scopes, a.Audience, a.AMR = []string{}, []string{}, []string{}
				a.AuthTime, a.ExpiresAt = s.Now(), s.Now().Add(time.Hour)
				if err := db.Issue(t.Context(), a, domain.Use{}, domain.NewToken{Kind: domain.KindAccess,
					Hash: secret.Hash(a.ID), ExpiresAt: a.ExpiresAt}); err != nil {
					t.Fatal(err)
				}
			}
			testworld.Kit.Publisher(t, g, test.service).Publish("o1", test.id, "admin", test.removed)
			testkit.Until(t, s.DB, "authorizations", `(select array_agg(a.id order by a.id) from authorizations a
				join tokens t on t.authorization_id = a.id) = $1`, test.left)
		})
	}
}
