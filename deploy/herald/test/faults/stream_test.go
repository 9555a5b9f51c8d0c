package faults_test

import (
	"os"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/smtpd"
)

// The streams are lost in the middle of a load: all events come back by themselves, and every user gets one mail.
func TestStreamsLostUnderImport(t *testing.T) {
	t.Parallel()
	server := smtpd.Start(t, smtpd.Config{})
	p := whole.NewProcesses(t, server.URL())
	p.StartNATS()
	p.StartAll()
	before, during := newCrowd("before", 2000), newCrowd("during", 2000)
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
	t.Logf("%d mails, the last %s after the loss", len(all), time.Since(began).Round(time.Millisecond))
}
