package frame

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"

	"herald/shared/fault"
	textv1 "herald/shared/gen/herald/text/v1"
)

// source stands in for the service text.
type source struct {
	textv1.TextClient
	resolve func(ctx context.Context) (*textv1.ResolveLanguagesResponse, error)
}

func (s source) ResolveLanguages(
	ctx context.Context, _ *textv1.ResolveLanguagesRequest, _ ...grpc.CallOption,
) (*textv1.ResolveLanguagesResponse, error) {
	return s.resolve(ctx)
}

// clock returns a time that only pass moves.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time        { return time.Unix(0, c.at.Load()) }
func (c *clock) pass(by time.Duration) { c.at.Add(int64(by)) }

func asking(t *testing.T, c *clock, s source) *languages {
	t.Helper()
	return newLanguages(catalogs(t), s, c.now, slog.New(slog.NewTextHandler(t.Output(), nil)))
}

// Pages of the same second ask text once, also those that come before the answer.
func TestTextIsAskedOnceASecond(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var c clock
	l := asking(t, &c, source{resolve: func(context.Context) (*textv1.ResolveLanguagesResponse, error) {
		asked.Add(1)
		return &textv1.ResolveLanguagesResponse{DefaultLanguage: "fr", AllowedLanguages: []string{"fr"}}, nil
	}})
	for second := int64(1); second <= 3; second++ {
		var readers sync.WaitGroup
		for range 50 {
			readers.Go(func() {
				if got := l.reader(httptest.NewRequest("GET", "/", nil)); got != "fr" {
					t.Errorf("answered in %q", got)
				}
			})
		}
		readers.Wait()
		if got := asked.Load(); got != second {
			t.Fatalf("asked %d times in %d seconds", got, second)
		}
		c.pass(cacheTime)
	}
}

// A page whose request has ended does not make the answer fail for other pages.
func TestReadersTimeIsNotTheQuestions(t *testing.T) {
	t.Parallel()
	var c clock
	l := asking(t, &c, source{resolve: func(ctx context.Context) (*textv1.ResolveLanguagesResponse, error) {
		return &textv1.ResolveLanguagesResponse{DefaultLanguage: "fr", AllowedLanguages: []string{"fr"}}, ctx.Err()
	}})
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := l.reader(httptest.NewRequestWithContext(gone, "GET", "/", nil)); got != "fr" {
		t.Errorf("answered in %q", got)
	}
}

// While text does not answer, one page a second waits for it, at most for askTimeout, and one line
// is logged.
func TestPagesWhileTextHangs(t *testing.T) {
	t.Parallel()
	var c clock
	var told strings.Builder
	asked, hangs := 0, false
	l := newLanguages(catalogs(t), source{resolve: func(ctx context.Context) (*textv1.ResolveLanguagesResponse, error) {
		asked++
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > askTimeout {
			t.Errorf("a page waits until %v", at)
		}
		if hangs {
			c.pass(askTimeout)
			return nil, fault.ErrDeadlineExceeded
		}
		return &textv1.ResolveLanguagesResponse{DefaultLanguage: "ko", AllowedLanguages: []string{"ko", "ja"}}, nil
	}}, c.now, slog.New(slog.NewTextHandler(&told, nil)))
	read := func(wantAsked int) {
		t.Helper()
		if got := l.reader(httptest.NewRequest("GET", "/", nil)); got != "ko" || asked != wantAsked {
			t.Errorf("answered in %q, asked %d times, want %d", got, asked, wantAsked)
		}
	}
	read(1)
	hangs = true
	c.pass(cacheTime)
	read(2)
	read(2) // at once, with the last answer
	c.pass(cacheTime - 1)
	read(2)
	c.pass(1)
	read(3)
	if got := strings.Count(told.String(), "level=WARN"); got != 1 {
		t.Errorf("told %d times:\n%s", got, told.String())
	}
	hangs = false
	c.pass(cacheTime)
	read(4)
	hangs = true
	c.pass(cacheTime)
	read(5)
	if got := strings.Count(told.String(), "level=WARN"); got != 2 {
		t.Errorf("told %d times:\n%s", got, told.String())
	}
}

func TestLanguagesWithoutPages(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, standard string
		allowed        []string
		asked, want    string
	}{
		{"unknown default", "tlh", []string{"tlh", "de"}, "tlh", "en"},
		{"unknown default, known reader", "tlh", []string{"tlh", "de"}, "de", "de"},
		{"nothing at all", "", nil, "de", "en"},
		{"default that is not allowed", "de", []string{"fr"}, "de", "de"},
		{"unknown among the allowed", "de", []string{"de", "tlh"}, "tlh", "de"},
		{"tags in another case are none of ours", "DE", []string{"FR"}, "fr", "en"},
	} {
		var c clock
		l := asking(t, &c, source{resolve: func(context.Context) (*textv1.ResolveLanguagesResponse, error) {
			return &textv1.ResolveLanguagesResponse{DefaultLanguage: test.standard, AllowedLanguages: test.allowed}, nil
		}})
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept-Language", test.asked)
		if got := l.reader(r); got != test.want {
			t.Errorf("%s: answered in %q, want %q", test.name, got, test.want)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, seed := range []string{"", "de-CH,fr;q=0.9", "*", "zh-Hant-TW", "x-y", "i-klingon", "en;q=2", "\xff"} {
		f.Add(seed)
	}
	found, err := readTexts()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, header string) {
		l := newLanguages(found, source{resolve: func(context.Context) (*textv1.ResolveLanguagesResponse, error) {
			return nil, fault.ErrUnavailable
		}}, time.Now, slog.New(slog.DiscardHandler))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Accept-Language"] = []string{header}
		if got := l.reader(r); found[got] == nil {
			t.Fatalf("%q is answered in %q", header, got)
		}
	})
}
