package faults_test

import (
	"fmt"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// mailAgain is how long after the return of the SMTP server everybody has a mail, on a machine with nothing else to do.
const mailAgain = 15 * time.Second

const (
	// refusedWait is for mails that the server refused one by one: half of the time that they have waited.
	refusedWait = 15 * time.Second
	// doubtWait is for mails whose final dot it did not answer: two minutes after they were sent, and a minute because
	// mails are then tried one at a time.
	doubtWait = 3 * time.Minute
)

// relayFaults are what an SMTP server may do wrong for a while. The first ones are those of the short form.
var relayFaults = []struct {
	outside.MailFault
	// repeats is how many mails may come twice.
	repeats int
	// later is how much later than usual the last mail may come.
	later time.Duration
}{
	{MailFault: outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}},
	{MailFault: outside.MailFault{At: outside.DATA, Drop: true}},
	{MailFault: outside.MailFault{At: outside.Greeting, Drop: true}},
	{MailFault: outside.MailFault{At: outside.EHLO, Drop: true}},
	{MailFault: outside.MailFault{At: outside.MAIL, Drop: true}},
	{MailFault: outside.MailFault{At: outside.MAIL, Reply: "451 4.3.0 try again later"}},
	{MailFault: outside.MailFault{At: outside.RCPT, Drop: true}},
	{MailFault: outside.MailFault{At: outside.RCPT, Reply: "450 4.2.0 greylisted"}, later: refusedWait},
	{MailFault: outside.MailFault{At: outside.Dot, Reply: "451 4.3.0 try again later"}, later: refusedWait},
	{MailFault: outside.MailFault{At: outside.Greeting, Hang: true}},
	{MailFault: outside.MailFault{At: outside.Dot, Drop: true}, repeats: 2*atOnce + 1, later: doubtWait},
	{MailFault: outside.MailFault{At: outside.Dot, Drop: true, Accept: true}, repeats: 2*atOnce + 1,
		later: doubtWait},
}

// The SMTP server fails at every moment of a session while people are imported. The imports do not fail. After a while
// the server works again, and everybody gets one mail. Only a mail whose final dot it did not answer may come twice,
// from two notifiers.
func TestRelaysThatFail(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	p.StartNATS()
	p.StartAll()
	p.Start("notification")
	const group = 20
	people, repeats := map[string]bool{}, 0
	for round := range min(rounds(2), len(relayFaults)) {
		fault := relayFaults[round]
		met := server.Count(fault.At)
		server.Script(fault.MailFault)
		server.Disconnect() // so that no mail goes through a connection that is open already
		began := time.Now()
		for n := range group {
			id := fmt.Sprintf("r%d-%d", round, n)
			p.Import(id)
			people[id] = true
		}
		if err := server.Reached(t.Context(), fault.At, met+1); err != nil {
			t.Fatalf("%+v: %v", fault.MailFault, err)
		}
		<-time.After(*awayFor) // how long the server fails is the test's subject
		if n := addressed(t, server); n == len(people) && !fault.Accept {
			t.Errorf("%+v: everybody had a mail before it ended", fault.MailFault)
		}
		server.Script()
		back := time.Now()
		if repeats += fault.repeats; fault.Hang {
			server.Disconnect() // as the end of the machine that hung would
		}
		oneMailEach(t, server, people, repeats)
		took := time.Since(back)
		t.Logf("%+v: for %s, everybody had a mail %s after it ended", fault.MailFault,
			back.Sub(began).Round(time.Millisecond), took.Round(time.Millisecond))
		if took > mailAgain+fault.later+spare() {
			t.Errorf("%+v: the last mail came only %s after it ended", fault.MailFault, took)
		}
		if t.Failed() {
			return
		}
	}
}

// addressed returns how many people have a mail now.
func addressed(t *testing.T, server *outside.MailServer) int {
	t.Helper()
	mails, err := server.Wait(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	to := map[string]bool{}
	for _, m := range mails {
		to[m.To[0]] = true
	}
	return len(to)
}
