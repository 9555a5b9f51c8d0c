package internals_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/store"
	"herald/services/users/internal/testworld"
	"herald/shared/expiration"
	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

// endingWorld has an owner of an organization and a machine user whose key ends in 180 hours.
type endingWorld struct {
	*testworld.World
	owner, robot, key string
}

func newEndingWorld(t *testing.T) *endingWorld {
	t.Helper()
	linked, _ := testworld.NewLinkedWorld(t)
	w := &endingWorld{World: linked}
	w.owner = w.Person(w.Admin, "owner")
	w.Must(w.Gateway.AddOrgMember(w.Admin, &usersv1.AddMemberRequest{UserId: w.owner, Roles: []string{"ORG_OWNER"}}))
	w.robot = w.Machine(w.Admin, "robot")
	made, err := w.Gateway.AddMachineKey(w.Admin, &usersv1.AddMachineKeyRequest{
		UserId: w.robot, PublicKey: testworld.PublicKey, ExpirationDate: timestamppb.New(w.Now().Add(180 * time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.key = made.KeyId
	return w
}

// token adds a personal access token that ends in a time from now.
func (w *endingWorld) token(userID, name string, in time.Duration) {
	w.Helper()
	w.Must(w.Gateway.AddPersonalAccessToken(w.Admin, &usersv1.AddPersonalAccessTokenRequest{
		UserId: userID, Name: name, ExpirationDate: timestamppb.New(w.Now().Add(in)),
	}))
}

// announce announces as of tomorrow what ends soon, and waits for the mails to so many users.
func (w *endingWorld) announce(mails int) {
	w.Helper()
	j := w.Service.Journal
	j.Now = func() time.Time { return w.Now().Add(24 * time.Hour) }
	if err := expiration.Announce(w.Context(), j, store.Expiring); err != nil {
		w.Fatal(err)
	}
	testkit.Until(w, w.Service.DB, "events",
		`(select count(*) from events where name = 'expiration_notice_requested') = $1`, mails)
}

// mail returns the mail to a user about what ends soon.
func (w *endingWorld) mail(userID string) (*usersv1.PrepareMailResponse, error) {
	w.Helper()
	kinds, ids := w.Asked(w.OrgID, userID)
	at := slices.Index(kinds, string(domain.KindExpiring))
	if at < 0 {
		w.Fatalf("%s has the mails %v", userID, kinds)
	}
	return w.Notify.PrepareMail(w.Context(), &usersv1.PrepareMailRequest{NotificationId: ids[at], UserId: userID})
}

func names(m *usersv1.PrepareMailResponse) (all []string) {
	for _, e := range m.Expirations {
		all = append(all, e.Name)
	}
	return all
}

// An owner's mail lists what ends soon of the organization, and no token of another person; a person's mail lists
// their own tokens. The announcement comes through the stream of events.
func TestMailsBeforeSomethingEnds(t *testing.T) {
	t.Parallel()
	w := newEndingWorld(t)
	person := w.Person(w.Admin, "person")
	w.token(person, "of a person", 185*time.Hour)
	w.token(w.owner, "own", 31*24*time.Hour-time.Hour)
	w.token(w.owner, "later", 32*24*time.Hour)
	w.token(w.robot, "of a robot", 500*time.Hour)
	w.Shop.Expires = func(r *heraldv1.ReadExpirationsRequest) (*heraldv1.ReadExpirationsResponse, error) {
		if r.OrgId != w.OrgID || !r.Usable || r.Limit != 20 || len(r.Kinds) != 5 {
			t.Errorf("projects was asked %v", r)
		}
		return &heraldv1.ReadExpirationsResponse{Total: 500, Result: []*heraldv1.Expiration{{
			Name: "shop", ExpirationDate: timestamppb.New(w.Now().Add(200 * time.Hour)),
		}}}, nil
	}
	w.announce(2)
	m, err := w.mail(w.owner)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(m); !slices.Equal(got, []string{"robot", "shop", "of a robot", "own"}) ||
		m.FurtherExpirations != 499 || m.OrgId != w.OrgID || m.OrgName == "" || m.Recipient == "" || m.Code != "" {
		t.Errorf("%q in %v", got, m)
	}
	if m, err = w.mail(person); err != nil || !slices.Equal(names(m), []string{"of a person"}) ||
		m.FurtherExpirations != 0 {
		t.Errorf("a person's mail is %v, %v", m, err)
	}
}

// A mail is not sent if nothing ends any more, and waits while projects does not answer. Other mails do not wait then.
func TestMailsAboutWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	w := newEndingWorld(t)
	w.announce(1)
	w.Shop.Expires = func(*heraldv1.ReadExpirationsRequest) (*heraldv1.ReadExpirationsResponse, error) {
		return nil, fault.ErrUnavailable
	}
	if _, err := w.mail(w.owner); fault.From(err).Code != fault.Deadline {
		t.Errorf("without projects: %v", err)
	}
	w.Shop.Expires = nil
	if m, err := w.mail(w.owner); err != nil || !slices.Equal(names(m), []string{"robot"}) {
		t.Errorf("%v, %v", m, err)
	}
	w.Must(w.RemoveKey(w.Admin, w.robot, w.key))
	if _, err := w.mail(w.owner); !errors.Is(err, usersfault.ErrNotificationObsolete) {
		t.Errorf("nothing ends: %v", err)
	}
}
