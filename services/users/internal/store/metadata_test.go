package store_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/shared/event"
	"herald/shared/gen/fault/usersfault"
	"herald/shared/postgres"
	"herald/shared/quota"
	"herald/shared/testkit"
)

// A user with the maximum number of keys gets no new one, but values can be changed.
func TestMetadataLimit(t *testing.T) {
	t.Parallel()
	db := kit.Pool(t)
	s := store.New(event.Journal{DB: db, Now: time.Now, Committed: func(event.Event) {}})
	if _, err := s.CreateOrg(t.Context(), domain.Org{ID: "o", Name: "o", PrimaryDomain: "o", State: domain.OrgActive},
		"", happened); err != nil {
		t.Fatal(err)
	}
	n := store.NewUser{User: domain.User{ID: "u", OrgID: "o", UserName: "u", Type: domain.Human,
		State: domain.UserActive}, Metadata: map[string][]byte{}}
	for i := range 7 {
		n.Metadata[fmt.Sprint(i)] = nil
	}
	if _, err := s.CreateUser(t.Context(), n, happened); err != nil {
		t.Fatal(err)
	}
	limit := func(settings string) {
		if err := postgres.SetQuotas(t.Context(), db, quota.Settings{Quotas: settings}); err != nil {
			t.Fatal(err)
		}
	}
	limit("metadata=0,metadata@o=7")
	set := func(key string) error {
		_, err := s.SetMetadata(t.Context(), "o", "u", key, func(m *domain.Metadata) (proto.Message, error) {
			m.Set([]byte("m"))
			return happened, nil
		})
		return err
	}
	if err := set("another"); !errors.Is(err, usersfault.ErrMetadataLimit) ||
		testkit.Rows(t, db, "user_metadata") != 7 {
		t.Errorf("%v, %d keys", err, testkit.Rows(t, db, "user_metadata"))
	}
	limit("metadata=3")
	if err := set("0"); err != nil {
		t.Error(err)
	}
}
