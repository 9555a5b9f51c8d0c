package main_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"herald/shared/testkit/smtpd"
)

// load repeats a step by clients at once for a while and answers with their number a
// second and the 50th and 99th percentile of their times.
func load(b *testing.B, clients int, d time.Duration, step func() error) (rate float64, p50, p99 time.Duration) {
	b.Helper()
	times := make([][]time.Duration, clients)
	begin := time.Now()
	var wait sync.WaitGroup
	for c := range clients {
		wait.Go(func() {
			for time.Since(begin) < d {
				start := time.Now()
				if err := step(); err != nil {
					b.Error(err)
					return
				}
				times[c] = append(times[c], time.Since(start))
			}
		})
	}
	wait.Wait()
	took := time.Since(begin)
	all := slices.Concat(times...)
	slices.Sort(all)
	if len(all) == 0 {
		b.Fatal("no step succeeded")
	}
	return float64(len(all)) / took.Seconds(), all[len(all)/2], all[len(all)*99/100]
}

// crowd has a connection for each of those who ask at once. It works on the processors
// that Herald works on, so it does what HTTP/1.1 needs and no more: net/http's client took
// a sixth of both, and its garbage was what the slowest answers waited for.
type crowd struct{ idle chan *line }

// line is a connection with its buffers.
type line struct {
	net.Conn
	in  *bufio.Reader
	out []byte
}

func newCrowd(clients int) *crowd { return &crowd{make(chan *line, clients)} }

// send asks and fails unless the answer is 200.
func (c *crowd) send(method, url, token, body string) error {
	host, path, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	l, err := c.line(host)
	if err != nil {
		return err
	}
	l.out = fmt.Appendf(l.out[:0], "%s /%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: "+
		"application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, host, token, len(body), body)
	if err = l.SetDeadline(time.Now().Add(30 * time.Second)); err == nil {
		_, err = l.Write(l.out)
	}
	var status string
	var size int
	if err == nil {
		status, size, err = l.head()
	}
	if err != nil {
		_ = l.Close()
		return err
	}
	defer func() { c.idle <- l }()
	if status == "200" {
		_, err = l.in.Discard(size)
		return err
	}
	answer := make([]byte, size)
	_, err = io.ReadFull(l.in, answer)
	return cmp.Or(err, fmt.Errorf("%s %s", status, answer))
}

func (c *crowd) line(host string) (*line, error) {
	select {
	case l := <-c.idle:
		return l, nil
	default:
	}
	conn, err := net.Dial("tcp", host)
	if err != nil {
		return nil, err
	}
	return &line{Conn: conn, in: bufio.NewReaderSize(conn, 64<<10)}, nil
}

// head reads an answer up to its body.
func (l *line) head() (status string, size int, err error) {
	first, err := l.in.ReadSlice('\n')
	if err != nil || len(first) < 12 {
		return "", 0, fmt.Errorf("%q: %w", first, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	status = string(first[9:12])
	for {
		header, err := l.in.ReadSlice('\n')
		if err != nil || len(header) <= len("\r\n") {
			return status, size, err
		}
		if value, ok := bytes.CutPrefix(header, []byte("Content-Length: ")); ok {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return "", 0, err
			}
		}
	}
}

// imports is a step that imports somebody new.
func imports(url, token string, clients int) func() error {
	client := newCrowd(clients)
	return func() error {
		_, body := person(true)
		return importOne(client, url, token, body)
	}
}

func importOne(c *crowd, url, token, body string) error {
	return c.send(http.MethodPost, url+"/management/v1/users/human/_import", token, body)
}

// BenchmarkImport compares imports with the floor, in turns so that noise hits both.
func BenchmarkImport(b *testing.B) {
	s, floorURL := newInstance(b, "HERALD_LOG_LEVEL=WARN"), startFloor(b)
	s.start()
	const rounds, each = 3, 4 * time.Second
	for _, clients := range []int{1, 16} {
		imported, floored := imports(s.url, s.token, clients), imports(floorURL, "", clients)
		load(b, clients, time.Second, imported) // warm
		load(b, clients, time.Second, floored)
		var herald, bare float64
		var p50, p99 time.Duration
		for range rounds {
			rate, _, _ := load(b, clients, each, floored)
			bare += rate / rounds
			rate, p50, p99 = load(b, clients, each, imported)
			herald += rate / rounds
		}
		fmt.Printf("import, %2d clients: %6.0f/s, floor %6.0f/s, ratio %3.0f %%, p50 %s, p99 %s\n", clients, herald,
			bare, 100*herald/bare, p50, p99)
		b.ReportMetric(herald/bare, fmt.Sprintf("ratio-at-%d", clients))
		if clients == 16 && herald/bare < 0.5 {
			b.Errorf("16 clients reach %.0f %% of the floor, want 50 %%", 100*herald/bare)
		}
	}
}

// BenchmarkImportToMail measures from the answer to an import until the mail server
// has the mail, at 50 imports a second.
func BenchmarkImportToMail(b *testing.B) {
	const perSecond, total = 50, 500
	server := smtpd.Start(b, smtpd.Config{})
	s := newInstance(b, "HERALD_LOG_LEVEL=WARN", "HERALD_SMTP_URL="+server.URL())
	s.start()
	answered := make(map[string]time.Time, total)
	var mu sync.Mutex
	var imports sync.WaitGroup
	client := newCrowd(16)
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	imports.Go(func() {
		for range total {
			<-tick.C
			imports.Go(func() {
				name, body := person(false)
				if err := importOne(client, s.url, s.token, body); err != nil {
					b.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				answered[name+"@example.com"] = time.Now()
			})
		}
	})
	ctx, cancel := context.WithTimeout(b.Context(), 2*time.Minute)
	defer cancel()
	came := make([]time.Time, total)
	for n := range total {
		_, err := server.Wait(ctx, n+1)
		check(b, err)
		came[n] = time.Now()
	}
	imports.Wait()
	mails, err := server.Wait(ctx, total)
	check(b, err)
	waits := make([]time.Duration, total)
	for n, m := range mails {
		waits[n] = max(0, came[n].Sub(answered[m.To[0]]))
	}
	slices.Sort(waits)
	p50, p99 := waits[total/2], waits[total*99/100]
	fmt.Printf("import to mail, %d/s: p50 %s, p99 %s\n", perSecond, p50.Round(time.Millisecond),
		p99.Round(time.Millisecond))
	b.ReportMetric(p99.Seconds(), "p99-s")
	if p99 > time.Second {
		b.Errorf("p99 is %s, want at most 1 s", p99)
	}
}

// BenchmarkStart measures cold and warm starts, and what an idle system takes.
func BenchmarkStart(b *testing.B) {
	s := newInstance(b)
	s.start()
	cold := s.ready
	check(b, s.stop(syscall.SIGTERM))
	s.start()
	warm, pid := s.ready, s.cmd.Process.Pid
	const idle = 10 * time.Second
	before := cpu(b, pid)
	<-time.After(idle)
	used, rss := cpu(b, pid)-before, memory(b, pid)
	fmt.Printf("start: cold %s, warm %s; idle: %d MiB, %.2f %% of a core\n", cold.Round(time.Millisecond),
		warm.Round(time.Millisecond), rss>>20, 100*used.Seconds()/idle.Seconds())
	b.ReportMetric(cold.Seconds(), "cold-s")
	b.ReportMetric(warm.Seconds(), "warm-s")
	if cold > 4*time.Second || warm > 1500*time.Millisecond || rss > 100<<20 || used > idle/100 {
		b.Error("want cold ≤ 4 s, warm ≤ 1.5 s, idle ≤ 100 MiB and < 1 % of a core")
	}
}

// cpu is the processor time that a process has used (proc(5), stat).
func cpu(b *testing.B, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	check(b, err)
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, err := strconv.Atoi(fields[11])
	check(b, err)
	system, err := strconv.Atoi(fields[12])
	check(b, err)
	return time.Duration(user+system) * time.Second / 100 // USER_HZ
}

// memory is a process's resident set in bytes.
func memory(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	check(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	check(b, err)
	return pages * os.Getpagesize()
}
