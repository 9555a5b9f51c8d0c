package delivery_test

import (
	"testing"
	"time"

	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/testworld"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// to returns settings for a mail server.
func to(s *outside.MailServer) *notificationv1.SetSmtpRequest {
	return &notificationv1.SetSmtpRequest{Url: s.URL(), SenderAddress: "no-reply@example.com"}
}

// Every replica sends by another server as soon as it was set, also mails that waited because the first one did not
// work. An event tells them: they ask by themselves only every hour, and try the first one again in an hour.
func TestReplicasUseNewSettings(t *testing.T) {
	t.Parallel()
	s := testworld.Setup{
		Config: testworld.ByAPI,
		Faults: []outside.MailFault{{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}},
		Times:  func(x *delivery.Times) { x.Probe, x.MaxProbe = time.Hour, time.Hour },
	}
	w := testworld.New(t, s)
	w.Set(to(w.Relay))
	other := w.Open(s)
	testkit.Run(t, other)
	for range 40 {
		w.Users.Ask("ada")
	}
	w.Logs.WaitFor(t, "no mail can be sent", 2) // both have noticed
	next := outside.StartMailServer(t, outside.MailConfig{})
	w.Set(to(next))
	w.Finished()
	if first, second := w.Counted(w.Service, "sent"), w.Counted(other, "sent"); first == 0 || second == 0 {
		t.Errorf("the replicas have sent %v and %v", first, second)
	}
	w.Relay = next
	w.SentOnce(40)
}

// A replica that was cut off from NATS, and so got no event, reads the settings when it is connected again.
func TestReplicaThatWasCutOffReadsAgain(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Config: testworld.ByAPI})
	w.Set(to(w.Relay))
	w.Settled(w.Users.Ask("ada"))
	next := outside.StartMailServer(t, outside.MailConfig{})
	w.Exec("update smtp set url = $1, sequence = sequence + 1000", next.URL()) // without an event
	if err := w.Service.Conn.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	for begin := time.Now(); next.Count(outside.Dot) == 0; { // the first ones may be sent before
		w.Settled(w.Users.Ask("ada"))
		if time.Since(begin) > 20*time.Second {
			t.Fatal("it sends by the first server")
		}
	}
}

// While the server changes again and again, each mail is sent once.
func TestNoMailIsLostOrSentTwiceAcrossAChange(t *testing.T) {
	t.Parallel()
	const mails = 200
	w := testworld.New(t, testworld.Setup{Config: testworld.ByAPI})
	servers := []*outside.MailServer{w.Relay, outside.StartMailServer(t, outside.MailConfig{})}
	w.Set(to(servers[0]))
	queue(w, mails, 0)
	w.Users.Ask("ada") // wakes the sender
	for i := range 10 {
		w.Set(to(servers[(i+1)%2]))
	}
	drained(w)
	found := map[string]int{}
	for _, s := range servers {
		deliveries, err := s.Wait(t.Context(), 1)
		if err != nil {
			t.Fatal("a server got no mail: ", err)
		}
		for _, d := range deliveries {
			found[d.MessageID]++
		}
	}
	for id, n := range found {
		if n != 1 {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	if sent := w.Count("notifications where state = $1", domain.Sent); len(found) != mails+1 || sent != mails+1 {
		t.Errorf("%d mails, %d recorded as sent", len(found), sent)
	}
}

// A mail whose final dot got no answer is repeated by the next server, with the sender of its time and the same id.
func TestRepeatHasTheNewSender(t *testing.T) {
	t.Parallel()
	s := testworld.Setup{Config: testworld.ByAPI,
		Faults: []outside.MailFault{{At: outside.Dot, Times: 1, Drop: true, Accept: true}},
		Times:  func(x *delivery.Times) { x.Doubt, x.Probe, x.Spread = time.Hour, time.Hour, spread }}
	w := testworld.Stopped(t, s)
	w.Exec("update smtp set url = $1", w.Relay.URL())
	testkit.Run(t, w.Open(s)) // it has this server from its start
	id := w.Users.Ask("ada")
	w.Logs.Wait(t, "no mail can be sent") // so nothing more is sent by this server
	next := outside.StartMailServer(t, outside.MailConfig{})
	w.Set(&notificationv1.SetSmtpRequest{Url: next.URL(), SenderAddress: "next@example.com"})
	w.Exec("update notifications set due_at = now()")
	w.Users.Ask("ada") // wakes the sender
	if n := w.Settled(id); testworld.Story(n) != "UNCERTAIN SENT: SENT" {
		t.Errorf("%v", n)
	}
	first := w.Accepted(1)[0]
	again, err := next.Wait(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range again {
		if d.From != "next@example.com" {
			t.Errorf("%s is from %s", d.MessageID, d.From)
		}
	}
	if again[0].MessageID != first.MessageID && again[1].MessageID != first.MessageID {
		t.Errorf("%s was not repeated", first.MessageID)
	}
}

// spread makes a pause so long that only the test ends it.
func spread(time.Duration) time.Duration { return time.Hour }
