package delivery_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/services/notification"
	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/testworld"
	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/event"
	"herald/shared/postgres"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// Environment variables of a notifier in a process of its own.
const (
	victimKeys     = "NOTIFIER_KEYS"
	victimBus      = "NOTIFIER_BUS"
	victimDatabase = "NOTIFIER_DATABASE"
	victimRelay    = "NOTIFIER_RELAY"
)

// lively are the times for notifiers that are killed often.
func lively(x *delivery.Times) { x.Lease, x.Tick = 2*time.Second, 100*time.Millisecond }

func TestMain(m *testing.M) {
	if os.Getenv(victimKeys) == "" {
		os.Exit(testworld.Main(m))
	}
	if err := victim(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// victim is the program of a notifier that the test kills. It prints a line when it has started, and
// ends if its parent ends.
func victim() error {
	keys, err := secret.ParseKeys(os.Getenv(victimKeys))
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	telemetry, err := boot.NewTelemetry(ctx, boot.Observe{}, "test", os.Stderr)
	if err != nil {
		return err
	}
	ground := boot.Ground{
		Telemetry: telemetry, Health: boot.NewHealth(), Keys: keys,
		Bus: bus.Address{URL: os.Getenv(victimBus)}, Streams: event.StreamConfig{MaxBytes: 64 << 20, Replicas: 1},
		Now: time.Now,
	}
	service, err := ground.Open(ctx, "notification", secret.NewText(os.Getenv(victimDatabase)),
		notification.Migrations)
	if err != nil {
		return err
	}
	if err := testworld.Start(ctx, service, os.Getenv(victimRelay), testworld.Setup{Times: lively}); err != nil {
		return err
	}
	fmt.Println("begins")
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); stop() }()
	service.Run(ctx)
	return nil
}

var kills = flag.Int("kills", 40, "how often TestKilledUnderWay kills a notifier")

// each is the number of queued mails per killed notifier.
const each = 12

// kill runs a notifier and kills it when its sessions have come to a moment a few times.
func kill(w *testworld.World, keys, busURL string, at outside.Verb) {
	w.Helper()
	c := exec.CommandContext(w.Context(), os.Args[0])
	c.Env = []string{victimKeys + "=" + keys, victimBus + "=" + busURL, victimDatabase + "=" + w.Database.Reveal(),
		victimRelay + "=" + w.Relay.URL()}
	var said bytes.Buffer
	c.Stderr = &said
	leash, err := c.StdinPipe()
	if err != nil {
		w.Fatal(err)
	}
	defer leash.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		w.Fatal(err)
	}
	if err := c.Start(); err != nil {
		w.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("begins"))); err != nil {
		w.Errorf("a notifier did not begin: %v\n%s", err, said.String())
	}
	count := w.Relay.Count(at) + 1 + rand.IntN(each)
	queue(w, each, 0)
	if err := w.Relay.Reached(w.Context(), at, count); err != nil {
		w.Errorf("no mail came to %s: %v", at, err)
	}
	if err := c.Process.Kill(); err != nil {
		w.Error(err)
	}
	_ = c.Wait() // returns an error, because it was killed
}

// Notifiers are killed many times, at every moment of a session. Every mail is delivered. Only a mail whose notifier
// died before the mail server's answer may come twice. If two notifiers die at the final dot of the same mail, its
// state is Uncertain.
func TestKilledUnderWay(t *testing.T) {
	t.Parallel()
	text := secret.NewKeyText()
	keys, err := secret.ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	ground := testkit.Reachable(t, keys)
	w := testworld.Stopped(t, testworld.Setup{Ground: &ground, Times: lively})
	busURL := w.Ground.Bus.URL
	const lanes = 4
	kills := *kills
	began := time.Now()
	var killing sync.WaitGroup
	for lane := range lanes {
		killing.Go(func() {
			for i := range kills / lanes {
				kill(w, text, busURL, []outside.Verb{outside.MAIL, outside.RCPT, outside.DATA, outside.Dot}[(lane+i)%4])
			}
		})
	}
	killing.Wait()
	if t.Failed() {
		return
	}
	killed := time.Since(began)
	testkit.Run(w, w.Service)
	drained(w)
	found := deliveredOnce(w)
	t.Logf("%d kills in %s; %d mails, all dealt with after %s: %d came twice; %d given up as uncertain, %d of them "+
		"never came",
		kills, killed.Round(time.Millisecond), kills*each, time.Since(began).Round(time.Millisecond), found.repeats,
		found.uncertain, found.lost)
	if n := w.Count("events where name = 'failed'"); n != found.uncertain {
		t.Errorf("%d mails are given up, %d events say so", found.uncertain, n)
	}
}

// found counts the mails that came twice, the uncertain ones at which two notifiers died, and the
// uncertain ones that never came.
type found struct{ repeats, uncertain, lost int }

// deliveredOnce checks what is promised for each mail.
func deliveredOnce(w *testworld.World) (f found) {
	w.Helper()
	came := map[string][]outside.Delivery{}
	got, err := w.Relay.Wait(w.Context(), 0)
	if err != nil {
		w.Fatal(err)
	}
	for _, d := range got {
		id, _, _ := strings.Cut(strings.TrimPrefix(d.MessageID, "<"), "@")
		came[id] = append(came[id], d)
	}
	type ended struct {
		ID         string
		State      domain.State
		Unanswered int
	}
	rows, err := postgres.All[ended](w.Context(), w.DB, `select n.id, n.state,
		count(a) filter (where a.state = @uncertain) as unanswered
		from notifications n left join attempts a on a.notification_id = n.id group by n.id`,
		postgres.Args{"uncertain": domain.Uncertain})
	if err != nil {
		w.Fatal(err)
	}
	for _, n := range rows {
		mails := came[n.ID]
		delete(came, n.ID)
		switch {
		case n.State == domain.Uncertain && n.Unanswered == 2 && len(mails) <= 2:
			f.uncertain++
			f.lost += 1 - min(1, len(mails))
		case n.State != domain.Sent || len(mails) == 0 || len(mails) > 1+n.Unanswered || n.Unanswered > 1:
			w.Errorf("%s came %d times, has %d attempts without an answer and state %d", n.ID,
				len(mails), n.Unanswered, n.State)
		}
		for _, again := range mails[min(1, len(mails)):] {
			f.repeats++
			if !bytes.Equal(again.Data, mails[0].Data) {
				w.Errorf("%s came first as\n%s\nthen as\n%s", n.ID, mails[0].Data, again.Data)
			}
		}
	}
	if len(came) > 0 {
		w.Errorf("%d mails came that nobody asked for", len(came))
	}
	return f
}
