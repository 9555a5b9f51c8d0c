package bench_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// sink is a mail server that records only the recipient of a mail, and when the recipient's first mail came.
type sink struct {
	mu     sync.Mutex
	got    int
	seen   map[string]time.Time
	next   chan struct{} // closed at the next mail
	open   int
	opened int // the most at once
}

// startSink returns a relay and its address.
func startSink(b *testing.B) (*sink, string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	b.Cleanup(func() { _ = l.Close() })
	s := &sink{seen: map[string]time.Time{}, next: make(chan struct{})}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s, "smtp://" + l.Addr().String()
}

func (s *sink) serve(c net.Conn) {
	s.mu.Lock()
	s.open++
	s.opened = max(s.opened, s.open)
	s.mu.Unlock()
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()
	to, data := "", false
	_, _ = fmt.Fprint(c, "220 sink\r\n")
	for lines := bufio.NewScanner(c); lines.Scan(); {
		line := lines.Text()
		reply := "250 ok"
		switch {
		case data && line != ".":
			continue
		case data:
			data = false
			s.took(to)
		case strings.HasPrefix(line, "RCPT TO:<"):
			to, _, _ = strings.Cut(line[len("RCPT TO:<"):], "@")
		case line == "DATA":
			data, reply = true, "354 go on"
		case line == "QUIT":
			return
		}
		_, _ = fmt.Fprint(c, reply+"\r\n")
	}
}

func (s *sink) took(to string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got++
	if s.seen[to].IsZero() {
		s.seen[to] = time.Now()
	}
	close(s.next)
	s.next = make(chan struct{})
}

// until waits until a condition holds, which is looked at after each mail.
func (s *sink) until(b *testing.B, holds func() bool) {
	b.Helper()
	limit := time.After(20 * time.Minute)
	for {
		s.mu.Lock()
		done, next := holds(), s.next
		s.mu.Unlock()
		if done {
			return
		}
		select {
		case <-next:
		case <-limit:
			b.Fatal("the mails do not come")
		}
	}
}

// mostDelay is how long a mail of another organization may take while those of a large import go out.
const mostDelay = 5 * time.Second

// BenchmarkImportedMails imports BENCH_USERS users (10,000) who need a mail each. Everybody gets one mail. It measures
// how fast the mails go out, how much memory that takes and how long another organization waits for its mails
// meanwhile.
func BenchmarkImportedMails(b *testing.B) {
	n, err := strconv.Atoi(os.Getenv("BENCH_USERS"))
	if err != nil {
		n = 10_000
	}
	relay, address := startSink(b)
	s := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_SMTP_URL="+address)
	var body strings.Builder
	body.WriteString(`{"dataOrgs":{"orgs":[{"orgId":"large","org":{"name":"Large"},"humanUsers":[`)
	for i := range n {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"userId":"large-%d","user":{"userName":"large-%d","profile":{"firstName":"Mini",`+
			`"lastName":"Mouse"},"email":{"email":"large-%d@example.com"}}}`, i, i, i)
	}
	body.WriteString(`]}]}}`)
	begin := time.Now()
	if status, answer := s.Call("POST", "/admin/v1/import", body.String()); status != http.StatusOK ||
		len(answer["errors"].([]any)) > 0 {
		b.Fatalf("%d %.500v", status, answer)
	}
	took := time.Since(begin)
	var slowest time.Duration
	others := 0
	for sent := 0; sent < n; others++ {
		name := fmt.Sprintf("other-%d", others)
		asked := time.Now()
		s.Import(name)
		relay.until(b, func() bool { return !relay.seen[name].IsZero() })
		slowest = max(slowest, relay.seen[name].Sub(asked))
		more := 0
		relay.until(b, func() bool {
			more++
			sent = relay.got
			return sent >= n || more > n/40
		})
	}
	relay.until(b, func() bool { return relay.got >= n+others })
	all := time.Since(begin)
	relay.mu.Lock()
	if people := len(relay.seen); people != n+others || relay.got != people {
		b.Errorf("%d mails to %d of %d people", relay.got, people, n+others)
	}
	relay.mu.Unlock()
	rate, peak := float64(n)/all.Seconds(), whole.PeakMemory(s.Cmd.Process.Pid)
	fmt.Printf("%d users imported in %.1f s; their mails went out in %.0f s, %.0f/s over %d connections; "+
		"%d mails of another organization took at most %.1f s; peak %d MiB, want 256\n", n, took.Seconds(),
		all.Seconds(), rate, relay.opened, others, slowest.Seconds(), peak>>20)
	b.ReportMetric(rate, "mails/s")
	b.ReportMetric(slowest.Seconds(), "s/other")
	if peak > 256<<20 || slowest > mostDelay {
		fallsShort(b, "mails: want at most 256 MiB, and mails of others within %s", mostDelay)
	}
}
