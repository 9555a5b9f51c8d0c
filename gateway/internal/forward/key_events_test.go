package forward_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/gateway/internal/testworld"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/resource"
)

// When the keys that sign tokens change, no gateway answers with older ones. Both copies of the event do that: the
// wake-up after the commit, and the one of the stream.
func TestKeyEventsEndSharedAnswersOfEveryGateway(t *testing.T) {
	t.Parallel()
	w := testworld.Start(t)
	w.Clock.Stop()
	var version atomic.Int64
	w.Auth.Endpoint = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return &heraldv1.HttpResponse{Status: 200, Body: fmt.Append(nil, "keys ", version.Load()),
			Headers: []*heraldv1.HttpHeader{{Name: "Cache-Control", Value: "public, max-age=300"}}}, nil
	}
	other, stop, _ := w.Stoppable(t, 0)
	defer stop()
	second := *w
	second.URL = "http://" + other
	gateways := map[string]*testworld.World{"one gateway": w, "another": &second}
	keys := func(g *testworld.World) string { return string(g.Do(t, "GET", "/oauth/v2/keys", "").Text) }
	for _, event := range []string{"signing_key.added", "signing_key.removed"} {
		for _, subject := range []string{"outbox.auth", "events.auth." + event + "._"} {
			t.Run(event+" "+subject, func(t *testing.T) {
				for name, g := range gateways {
					old := keys(g)
					version.Add(1)
					if got := keys(g); got != old {
						t.Fatalf("%s asked again without an event: %s", name, got)
					}
				}
				m := &nats.Msg{Subject: subject, Data: []byte(`{}`), Header: nats.Header{
					"ce-id": {resource.NewID()}, "ce-type": {"herald.auth." + event + ".v1"}, "ce-subject": {"k1"},
				}}
				if err := w.Services[1].PublishMsg(m); err != nil {
					t.Fatal(err)
				}
				want, published := fmt.Sprint("keys ", version.Load()), time.Now()
				for name, g := range gateways {
					for keys(g) != want { // the clock stands, so only the event ends the old ones
						if time.Since(published) > 30*time.Second {
							t.Fatalf("%s has %s long after the event, want %s", name, keys(g), want)
						}
					}
				}
			})
		}
	}
}
