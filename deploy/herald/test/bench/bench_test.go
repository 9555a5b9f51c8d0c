package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit/outside"
)

// load repeats a step with several clients for a while. It returns the total time and the times of the steps.
func load(b *testing.B, clients int, d time.Duration, step func() error) (took time.Duration, all []time.Duration) {
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
	return time.Since(begin), slices.Concat(times...)
}

// measured is what many turns of a step took together.
type measured struct {
	rate     float64 // steps per second
	p50, p99 time.Duration
}

// inTurns runs steps in short turns, one after the other again and again, so that what else the
// machine does affects all of them. The first turns warm them up.
func inTurns(b *testing.B, clients, rounds int, each time.Duration, steps ...func() error) []measured {
	if testing.Short() {
		rounds = 2
	}
	b.Helper()
	took, times := make([]time.Duration, len(steps)), make([][]time.Duration, len(steps))
	for round := -1; round < rounds; round++ {
		for i, step := range steps {
			if turn, all := load(b, clients, each, step); round >= 0 {
				took[i] += turn
				times[i] = append(times[i], all...)
			}
		}
	}
	results := make([]measured, len(steps))
	for i, all := range times {
		if len(all) == 0 {
			b.Fatal("no step succeeded")
		}
		slices.Sort(all)
		results[i] = measured{float64(len(all)) / took[i].Seconds(), all[len(all)/2], all[len(all)*99/100]}
	}
	return results
}

// client sends requests, with a connection for each simultaneous one. It uses fasthttp, because it
// shares the processors with Herald and net/http's client took a sixth of them.
type client struct{ http *fasthttp.Client }

func newClient(clients int) client {
	const limit = 30 * time.Second
	return client{&fasthttp.Client{MaxConnsPerHost: clients, ReadTimeout: limit, WriteTimeout: limit}}
}

// send sends a request and returns an error unless the status is 200.
func (c client) send(method, url, token, body string) error {
	if token != "" {
		token = "Bearer " + token
	}
	return c.sendAs(method, url, token, "application/json", body)
}

// sendAs does the same with an Authorization header, if it is not empty, and a media type.
func (c client) sendAs(method, url, authorization, kind, body string) error {
	return c.sendWith(method, url, "Authorization", authorization, kind, body)
}

// sendWith does the same with another header.
func (c client) sendWith(method, url, header, value, kind, body string) error {
	request, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(answer)
	request.Header.SetMethod(method)
	request.SetRequestURI(url)
	if value != "" {
		request.Header.Set(header, value)
	}
	request.Header.SetContentType(kind)
	request.SetBodyString(body)
	if err := c.http.Do(request, answer); err != nil {
		return err
	}
	if answer.StatusCode() != http.StatusOK {
		return fmt.Errorf("%d %s", answer.StatusCode(), answer.Body())
	}
	return nil
}

// figure is a rate that must be at least a share of its floor's rate.
type figure struct {
	name        string
	clients     int
	want        float64
	step, floor func() error
}

// measure compares step with floor.
func (f figure) measure(b *testing.B) {
	b.Run(fmt.Sprintf("%s/%d", f.name, f.clients), func(b *testing.B) {
		const rounds, each = 20, 500 * time.Millisecond
		t := inTurns(b, f.clients, rounds, each, f.floor, f.step)
		floor, step := t[0], t[1]
		ratio := step.rate / floor.rate
		fmt.Printf("%s, %d clients: %.0f/s, floor %.0f/s, ratio %.0f %%, want %.0f %%; p50 %s, p99 %s\n",
			f.name, f.clients, step.rate, floor.rate, 100*ratio, 100*f.want, short(step.p50), short(step.p99))
		b.ReportMetric(ratio, "ratio")
		if ratio < f.want {
			fallsShort(b, "%s reaches %.0f %% of its floor, want %.0f %%", f.name, 100*ratio, 100*f.want)
		}
	})
}

// fallsShort reports a figure that is not reached. With -short it does not fail the test, because the machine may do
// other work too.
func fallsShort(b *testing.B, format string, args ...any) {
	b.Helper()
	fmt.Printf("falls short: "+format+"\n", args...)
	if !testing.Short() {
		b.Fail()
	}
}

// imports returns a step that imports a new person.
func imports(url, token string, clients int) func() error {
	client := newClient(clients)
	return func() error {
		_, body := person(true)
		return importOne(client, url, token, body)
	}
}

func importOne(c client, url, token, body string) error {
	return c.send(http.MethodPost, url+"/management/v1/users/human/_import", token, body)
}

// BenchmarkImport compares the rates of imports and of the floor.
func BenchmarkImport(b *testing.B) {
	s, floorURL := whole.New(b, "HERALD_LOG_LEVEL=WARN"), startFloor(b)
	s.Start()
	for clients, want := range map[int]float64{1: 0.5, 16: 0.65} {
		figure{"import", clients, want, imports(s.URL, s.Token, clients), imports(floorURL, "", clients)}.measure(b)
	}
}

// BenchmarkImportToMail measures the time from the answer to an import until the mail server has
// the mail, at 50 imports a second.
func BenchmarkImportToMail(b *testing.B) {
	const perSecond, total = 50, 500
	server := outside.StartMailServer(b, outside.MailConfig{})
	s := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_SMTP_URL="+server.URL())
	answered := make(map[string]time.Time, total)
	var mu sync.Mutex
	var imports sync.WaitGroup
	client := newClient(16)
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	imports.Go(func() {
		for range total {
			<-tick.C
			imports.Go(func() {
				name, body := person(false)
				if err := importOne(client, s.URL, s.Token, body); err != nil {
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
		fallsShort(b, "import to mail: p99 is %s, want at most 1 s", p99)
	}
}

// BenchmarkStart measures cold and warm starts, and the memory and CPU of an idle system.
func BenchmarkStart(b *testing.B) {
	s := whole.New(b)
	s.StartCommand(whole.Binary(b), "run") // makes the files of Postgres itself
	cold := s.Ready
	check(b, s.Stop(syscall.SIGTERM))
	s.Start()
	warm, pid := s.Ready, s.Cmd.Process.Pid
	const idle = 10 * time.Second
	before := cpu(b, pid)
	<-time.After(idle)
	used, rss := cpu(b, pid)-before, memory(b, pid)
	fmt.Printf("start: cold %s, warm %s; idle: %d MiB, %.2f %% of a core\n", cold.Round(time.Millisecond),
		warm.Round(time.Millisecond), rss>>20, 100*used.Seconds()/idle.Seconds())
	b.ReportMetric(cold.Seconds(), "cold-s")
	b.ReportMetric(warm.Seconds(), "warm-s")
	if cold > 4*time.Second || warm > 1500*time.Millisecond || rss > 100<<20 || used > idle/100 {
		fallsShort(b, "start: want cold ≤ 4 s, warm ≤ 1.5 s, idle ≤ 100 MiB and < 1 %% of a core")
	}
}

// cpu returns the CPU time that a process has used (proc(5), stat).
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

// memory returns a process's resident set size in bytes.
func memory(b *testing.B, pid int) int {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	check(b, err)
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	check(b, err)
	return pages * os.Getpagesize()
}
