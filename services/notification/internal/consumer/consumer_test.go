package consumer_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/notification/internal/consumer"
	"herald/services/notification/internal/store"
	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/mailer"
	"herald/shared/search"
	"herald/shared/testkit"
)

var kit = testkit.New("notification", store.Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// world has the events of users in the journal and the mails that they ask for in the store.
type world struct {
	testing.TB
	journal event.Journal
	store.Store
	woken int
}

func newWorld(t testing.TB) *world {
	t.Helper()
	j := kit.Journal(t)
	return &world{TB: t, journal: j, Store: store.New(j)}
}

// publish saves an event about a user of o1.
func (w *world) publish(eventID, userID string, m proto.Message) {
	w.Helper()
	save := event.Statement{AggregateID: userID, OrganizationID: "o1", EventID: eventID}
	if _, err := w.journal.Create(w.Context(), m, save); err != nil {
		w.Fatal(err)
	}
}

// handle handles the newest events about a user.
func (w *world) handle(userID string, most int) {
	w.Helper()
	past := event.Past{OrganizationID: "o1", HistoryID: userID, Since: time.Now().Add(-time.Hour), Most: most}
	if err := w.journal.Recall(w.Context(), past, consumer.Handlers(w.Store, func() { w.woken++ })...); err != nil {
		w.Fatal(err)
	}
}

// mails returns the ids and kinds of the mails to a user.
func (w *world) mails(userID string) (all []string) {
	w.Helper()
	list, err := w.List(w.Context(), "o1", userID, search.Page{Limit: 10, Asc: true})
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range list.Rows {
		all = append(all, fmt.Sprintf("%s %s", n.ID, n.Kind))
	}
	slices.Sort(all)
	return all
}

// A change of the address asks for a code to the new address and for a notice to the previous one.
func TestEventQueuesItsMailsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish("e1", "ada", &usersv1.HumanEmailChanged{Mail: "verifyemail", Notice: "emailchanged"})
	w.publish("e2", "ada", &usersv1.HumanEmailVerified{})
	w.handle("ada", 2)
	if w.woken != 2 {
		t.Errorf("the sender is woken %d times, want 2", w.woken)
	}
	w.handle("ada", 2)
	want := []string{"e1 verifyemail", mailer.NoticeID("e1") + " emailchanged"}
	slices.Sort(want)
	if got := w.mails("ada"); !slices.Equal(got, want) {
		t.Errorf("queued are %q, want %q", got, want)
	}
}

// The mails contain an address.
func TestMailsOfARemovedUserAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asks := &usersv1.HumanPasswordResetRequested{Mail: "passwordreset"}
	w.publish("e1", "ada", asks)
	w.publish("e2", "bob", asks)
	w.handle("ada", 2)
	w.handle("bob", 2)
	w.publish("e3", "ada", &usersv1.UserRemoved{})
	w.handle("ada", 1)
	if left := w.mails("ada"); left != nil {
		t.Errorf("left are %q", left)
	}
	if left := w.mails("bob"); !slices.Equal(left, []string{"e2 passwordreset"}) {
		t.Errorf("another user has %q", left)
	}
}
