package faults_test

import (
	"os"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// The streams are lost in the middle of a load. The services publish all events again, and every user gets one mail.
func TestStreamsLostUnderImport(t *testing.T) {
	t.Parallel()
	server := outside.StartMailServer(t, outside.MailConfig{})
	p := whole.NewProcesses(t, server.URL())
	p.StartNATS()
	p.StartAll()
	size := 2000
	if *kills > 0 {
		size = 50_000
	}
	before, during := newCrowd("before", size), newCrowd("during", size)
	before.everybody(t, taken(t, p, before))
	p.Kill("nats")
	if err := os.RemoveAll(p.Dir + "/nats"); err != nil {
		t.Fatal(err)
	}
	p.StartNATS()
	began := time.Now()
	during.everybody(t, taken(t, p, during))
	all := map[string]bool{}
	for _, c := range []crowd{before, during} {
		for id := range c.mailed {
			all[id] = true
		}
	}
	oneMailEach(t, server, all, 0)
	took := time.Since(began)
	t.Logf("%d events, %d mails, the last %s after the loss", 2*size, len(all), took.Round(time.Millisecond))
	if took > time.Minute {
		t.Errorf("the last mail came only %s after the loss", took)
	}
}
