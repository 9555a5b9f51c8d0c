package faults_test

import (
	"fmt"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// relayFaults are what an SMTP server may do wrong for a while. The first ones are those of the short form.
var relayFaults = []struct {
	outside.MailFault
	// repeats is how many mails may come twice.
	repeats int
}{
	{MailFault: outside.MailFault{At: outside.Greeting, Reply: "421 4.3.2 closing", Drop: true}},
	{MailFault: outside.MailFault{At: outside.DATA, Drop: true}},
	{MailFault: outside.MailFault{At: outside.Greeting, Drop: true}},
	{MailFault: outside.MailFault{At: outside.EHLO, Drop: true}},
	{MailFault: outside.MailFault{At: outside.MAIL, Drop: true}},
	{MailFault: outside.MailFault{At: outside.MAIL, Reply: "451 4.3.0 try again later"}},
	{MailFault: outside.MailFault{At: outside.RCPT, Drop: true}},
	{MailFault: outside.MailFault{At: outside.RCPT, Reply: "450 4.2.0 greylisted"}},
	{MailFault: outside.MailFault{At: outside.Dot, Reply: "451 4.3.0 try again later"}},
	{MailFault: outside.MailFault{At: outside.Greeting, Hang: true}},
	{MailFault: outside.MailFault{At: outside.Dot, Drop: true}, repeats: 2*atOnce + 1},
	{MailFault: outside.MailFault{At: outside.Dot, Drop: true, Accept: true}, repeats: 2*atOnce + 1},
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
		server.Script()
		if repeats += fault.repeats; fault.Hang {
			server.Disconnect() // as the end of the machine that hung would
		}
		oneMailEach(t, server, people, repeats)
		t.Logf("%+v: everybody had a mail %s after it began", fault.MailFault,
			time.Since(began).Round(time.Millisecond))
		if t.Failed() {
			return
		}
	}
}
