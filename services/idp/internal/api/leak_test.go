package api_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/services/idp/internal/testworld"
	idpv1 "herald/shared/gen/herald/idp/v1"
	"herald/shared/testkit"
)

// No answer, log, event, metric or table contains a client secret. No event and no log contains a
// name.
func TestClientSecretsAreSentAndLoggedNowhere(t *testing.T) {
	t.Parallel()
	log := &testkit.Lines{}
	w := testworld.NewOn(t, testkit.Logged(t, testkit.Ground(t), slog.LevelDebug, log), testworld.Config)
	subscription, err := testkit.Connect(t, w.Ground, "subscriber").SubscribeSync("events.>")
	w.Must(subscription, err)
	const first, second, name = "canary-first-secret", "canary-second-secret", "Canaryname"
	made, err := w.CreateDirectoryIdp(w.InA, &idpv1.CreateDirectoryIdpRequest{
		Name: name, ClientId: "herald", ClientSecret: first,
	})
	w.Must(made, err)
	changed, err := w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: made.Id, ClientSecret: second})
	w.Must(changed, err)
	list, err := w.SearchIdps(w.InA, &idpv1.SearchIdpsRequest{})
	w.Must(list, err)
	history, err := w.SearchIdpChanges(w.InA, &idpv1.SearchIdpChangesRequest{Id: made.Id})
	w.Must(history, err)
	// A failed statement is logged with the database's message.
	const broken = `alter table idps add constraint broken check (false) not valid`
	w.Must(w.Service.DB.Exec(t.Context(), broken))
	_, err = w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: made.Id, ClientSecret: first})
	refused(t, err, "INTERNAL")
	_, err = w.UpdateDirectoryIdp(w.InA, &idpv1.UpdateDirectoryIdpRequest{Id: made.Id,
		ClientSecret: strings.Repeat(first, 20)})
	refused(t, err, "INVALID_ARGUMENT")

	events := published(t, subscription, 2)
	if !strings.Contains(events, "events.idp.idp.created.org-a") || !strings.Contains(events, "clientSecret") {
		t.Errorf("the events are %s", events)
	}
	answers := protojson.Format(made) + protojson.Format(changed) + protojson.Format(list) + protojson.Format(history) +
		err.Error() + protojson.Format(w.Get(made.Id))
	families, err := w.Service.Metrics.Gather()
	w.Must(families, err)
	metrics := ""
	for _, f := range families {
		metrics += f.String()
	}
	for place, text := range map[string]string{
		"the answers": answers, "the log": log.String(), "the events": events, "the metrics": metrics,
	} {
		t.Run(place, func(t *testing.T) {
			if strings.Contains(text, first) || strings.Contains(text, second) {
				t.Errorf("%s have a secret: %s", place, text)
			}
			if place != "the answers" && strings.Contains(text, name) {
				t.Errorf("%s have the name: %s", place, text)
			}
		})
	}
	if !strings.Contains(log.String(), "broken") {
		t.Error("the log does not have the failure")
	}
	for _, table := range []string{"idps", "events", "outbox"} {
		for _, planted := range []string{first, second} {
			if w.Rows(table+` x where position($1 in x::text) > 0 or position(encode($1::bytea, 'hex') in x::text) > 0`,
				planted) > 0 {
				t.Errorf("%s has a secret", table)
			}
		}
	}
}

// published returns the subjects and data of n events.
func published(t *testing.T, s *nats.Subscription, n int) (events string) {
	t.Helper()
	for range n {
		m, err := s.NextMsg(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		events += m.Subject + string(m.Data)
	}
	return events
}
