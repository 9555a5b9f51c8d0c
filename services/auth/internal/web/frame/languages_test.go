package frame

import (
	"context"
	"io"
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
	"herald/shared/testkit"
)

// languageText stands in for the service text.
type languageText struct {
	textv1.TextClient
	resolve func(ctx context.Context) (*textv1.ResolveLanguagesResponse, error)
}

func (x languageText) ResolveLanguages(
	ctx context.Context, _ *textv1.ResolveLanguagesRequest, _ ...grpc.CallOption,
) (*textv1.ResolveLanguagesResponse, error) {
	return x.resolve(ctx)
}

// allowing returns a stand-in with a default language and allowed ones. It calls asked before each answer.
func allowing(standard string, allowed []string, asked func(context.Context) error) languageText {
	return languageText{resolve: func(ctx context.Context) (*textv1.ResolveLanguagesResponse, error) {
		return &textv1.ResolveLanguagesResponse{DefaultLanguage: standard, AllowedLanguages: allowed}, asked(ctx)
	}}
}

func always(context.Context) error { return nil }

func asking(t *testing.T, c *testkit.Clock, x languageText, log io.Writer) *languages {
	t.Helper()
	return newLanguages(catalogs(t), newSource(x, c.Now, slog.New(slog.NewTextHandler(log, nil))))
}

func TestPagesOfOneSecondShareOneRequestForLanguages(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	var c testkit.Clock
	c.Stop()
	l := asking(t, &c, allowing("fr", []string{"fr"}, func(context.Context) error { asked.Add(1); return nil }),
		t.Output())
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
			t.Fatalf("%d requests in %d seconds", got, second)
		}
		c.Advance(cacheTime)
	}
}

func TestCanceledPageDoesNotCancelRequestForLanguages(t *testing.T) {
	t.Parallel()
	l := asking(t, &testkit.Clock{}, allowing("fr", []string{"fr"}, context.Context.Err), t.Output())
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if got := l.reader(httptest.NewRequestWithContext(canceled, "GET", "/", nil)); got != "fr" {
		t.Errorf("answered in %q", got)
	}
}

// One page a second waits for text, at most for textTimeout, and one line is logged.
func TestPagesKeepTheirLanguageDuringAnOutageOfText(t *testing.T) {
	t.Parallel()
	var c testkit.Clock
	c.Stop()
	var logged strings.Builder
	asked, hangs := 0, false
	l := asking(t, &c, allowing("ko", []string{"ko", "ja"}, func(ctx context.Context) error {
		asked++
		if at, ok := ctx.Deadline(); !ok || time.Until(at) > textTimeout {
			t.Errorf("a page waits until %v", at)
		}
		if hangs {
			c.Advance(textTimeout)
			return fault.ErrDeadlineExceeded
		}
		return nil
	}), &logged)
	read := func(wantAsked, wantWarnings int) {
		t.Helper()
		got, warnings := l.reader(httptest.NewRequest("GET", "/", nil)), strings.Count(logged.String(), "level=WARN")
		if got != "ko" || asked != wantAsked || warnings != wantWarnings {
			t.Errorf("answered in %q after %d requests, want %d:\n%s", got, asked, wantAsked, logged.String())
		}
	}
	read(1, 0)
	hangs = true
	c.Advance(cacheTime)
	read(2, 1)
	read(2, 1) // at once, with the last answer
	c.Advance(cacheTime - 1)
	read(2, 1)
	c.Advance(1)
	read(3, 1)
	hangs = false
	c.Advance(cacheTime)
	read(4, 1)
	hangs = true
	c.Advance(cacheTime)
	read(5, 1) // an outage that comes back at once is the same one
}

func TestPagesAreOnlyInLanguagesThatHaveTexts(t *testing.T) {
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
		{"tags in another case", "DE", []string{"FR"}, "fr", "en"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			l := asking(t, &testkit.Clock{}, allowing(test.standard, test.allowed, always), t.Output())
			r := httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept-Language", test.asked)
			if got := l.reader(r); got != test.want {
				t.Errorf("answered in %q, want %q", got, test.want)
			}
		})
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
		away := allowing("", nil, func(context.Context) error { return fault.ErrUnavailable })
		l := newLanguages(found, newSource(away, time.Now, slog.New(slog.DiscardHandler)))
		r := httptest.NewRequest("GET", "/", nil)
		r.Header["Accept-Language"] = []string{header}
		if got := l.reader(r); found[got] == nil {
			t.Fatalf("%q is answered in %q", header, got)
		}
	})
}
