package look

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/language"

	textv1 "herald/shared/gen/herald/text/v1"
)

const (
	// believed is how long an answer of text counts, from when it was asked for: strangers
	// open pages as often as they like, and text is asked once a second.
	believed = time.Second
	// patience is how long a page waits for text. Both together bound how late a replica
	// may follow a change.
	patience = 500 * time.Millisecond
	// lastResort is what pages are written in where text names no default that has texts.
	lastResort = "en"
)

// choice is the languages that pages are written in.
type choice struct {
	allowed  map[string]bool
	standard string
}

// languages knows the choice of text. While text is away it is the one that text made
// last, and before the first all languages with English as the default.
type languages struct {
	text textv1.TextClient
	now  func() time.Time
	log  *slog.Logger

	all map[string]bool // never changes

	mu     sync.Mutex // held while text is asked: whoever else wants to know waits for the answer
	choice choice
	until  time.Time
	away   bool
}

func newLanguages(
	catalogs map[string]texts, text textv1.TextClient, now func() time.Time, log *slog.Logger,
) *languages {
	all := map[string]bool{}
	for tag := range catalogs {
		all[tag] = true
	}
	return &languages{text: text, now: now, log: log, all: all, choice: choice{allowed: all, standard: lastResort}}
}

// reader is the language of the answer to a request.
func (l *languages) reader(r *http.Request) string {
	c := l.current(r.Context())
	wanted, _, err := language.ParseAcceptLanguage(strings.Join(r.Header.Values("Accept-Language"), ","))
	if err != nil {
		return c.standard
	}
	return c.lookup(wanted)
}

// lookup takes the first language that is allowed. As RFC 4647 section 3.4 does, it drops
// subtag after subtag: a relative of the language, which x/text would offer, may be the
// last that a reader wants, and the mail that led here chooses in the same way.
func (c choice) lookup(wanted []language.Tag) string {
	for _, w := range wanted {
		for tag := w.String(); tag != ""; tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)] {
			if c.allowed[tag] {
				return tag
			}
		}
	}
	return c.standard
}

func (l *languages) current(ctx context.Context) choice {
	l.mu.Lock()
	defer l.mu.Unlock()
	asked := l.now()
	if asked.Before(l.until) {
		return l.choice
	}
	// One reader's answer is everybody's: it does not end with the reader's own patience.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	r, err := l.text.ResolveLanguages(ctx, &textv1.ResolveLanguagesRequest{})
	if err != nil {
		if !l.away {
			l.log.WarnContext(ctx, "text does not say which languages pages are written in; what it said last counts",
				"err", err)
		}
		// From now on, not from when it was asked: else each page would wait for a text that hangs.
		l.until, l.away = l.now().Add(believed), true
		return l.choice
	}
	l.choice, l.until, l.away = l.written(r), asked.Add(believed), false
	return l.choice
}

// written is the part of the answer in which there are texts of pages.
func (l *languages) written(r *textv1.ResolveLanguagesResponse) choice {
	c := choice{allowed: map[string]bool{}, standard: r.DefaultLanguage}
	if !l.all[c.standard] {
		c.standard = lastResort
	}
	for _, tag := range append(slices.Clone(r.AllowedLanguages), c.standard) {
		if l.all[tag] {
			c.allowed[tag] = true
		}
	}
	return c
}
