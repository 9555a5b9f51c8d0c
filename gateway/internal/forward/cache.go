package forward

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"herald/gateway/internal/exchange"
)

const (
	// maxAnswers is how many answers are kept. If the cache is full, the answer is removed that has not been used for
	// the longest time.
	maxAnswers = 64
	// maxBody and maxURI are the sizes in bytes above which an answer is not kept.
	maxBody = 64 << 10
	maxURI  = 1 << 10
)

// cache keeps answers to GET requests by path and query for as long as the service says that everybody may share them
// (RFC 9111). It keeps an answer with "Cache-Control: public, max-age=…" and no other directive, and nothing that
// depends on more than the address. An event that concerns everybody, such as that of a new key, ends all answers. All
// requests get the same bytes of an answer. It is safe for concurrent use.
type cache struct {
	now     func() time.Time
	epoch   func() uint64
	mu      sync.RWMutex
	answers map[string]*answer
}

func newCache(now func() time.Time, epoch func() uint64) *cache {
	return &cache{now: now, epoch: epoch, answers: map[string]*answer{}}
}

// moment is when a question was asked.
type moment struct {
	at    time.Time
	epoch uint64
}

// moment returns the present one.
func (c *cache) moment() moment { return moment{c.now(), c.epoch()} }

// answer is an answer that is ready to be sent. It is never changed.
type answer struct {
	now       func() time.Time
	asked     moment
	maxAge    time.Duration
	tag       string
	whole     http.Header // with a body
	unchanged http.Header // of a 304
	body      []byte
	used      atomic.Int64 // when it was last used, in nanoseconds since 1970
}

// find returns the answer for a path and query; nil if there is none or it is too old.
func (c *cache) find(uri string) *answer {
	c.mu.RLock()
	a := c.answers[uri]
	c.mu.RUnlock()
	if a == nil {
		return nil
	}
	now := c.moment()
	if age := now.at.Sub(a.asked.at); age < 0 || age >= a.maxAge || now.epoch != a.asked.epoch {
		return nil
	}
	a.used.Store(now.at.UnixNano())
	return a
}

// keep stores an answer with status 200 to a request of the moment asked, and returns it. It returns nil if the answer
// may not be kept. The caller must not change header and body afterwards.
func (c *cache) keep(uri string, asked moment, header http.Header, body []byte) *answer {
	maxAge := sharedFor(header)
	if maxAge == 0 || len(body) > maxBody || len(uri) > maxURI || len(header["Vary"])+len(header["Set-Cookie"]) > 0 {
		return nil
	}
	a := &answer{now: c.now, asked: asked, maxAge: maxAge, tag: header.Get("Etag"), body: body}
	if a.tag == "" {
		sum := sha256.Sum256(body)
		a.tag = `"` + hex.EncodeToString(sum[:12]) + `"`
	}
	a.unchanged = header.Clone()
	a.unchanged.Set("Etag", a.tag)
	a.whole = a.unchanged.Clone()
	a.whole.Set("Content-Length", strconv.Itoa(len(body)))
	a.unchanged.Del("Content-Type")
	a.used.Store(asked.at.UnixNano())
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.answers[uri]; !known && len(c.answers) >= maxAnswers {
		c.dropOne()
	}
	c.answers[uri] = a
	return a
}

// dropOne removes the answer that has not been used for the longest time.
func (c *cache) dropOne() {
	var oldest string
	var used int64
	for uri, a := range c.answers {
		if at := a.used.Load(); oldest == "" || at < used {
			oldest, used = uri, at
		}
	}
	delete(c.answers, oldest)
}

// serve answers a GET or HEAD with the answer, or with 304 if the client has it already.
func (a *answer) serve(w http.ResponseWriter, r *http.Request) {
	header, status := a.whole, http.StatusOK
	if exchange.HasTag(r, a.tag) {
		header, status = a.unchanged, http.StatusNotModified
	}
	h := w.Header()
	for name, values := range header {
		h[name] = values
	}
	h["Age"] = []string{strconv.FormatInt(int64(a.now().Sub(a.asked.at)/time.Second), 10)}
	w.WriteHeader(status)
	if status == http.StatusOK && r.Method != http.MethodHead {
		exchange.Share(w)
		_, _ = w.Write(a.body) // fails if the client has closed the connection
	}
}

// sharedFor returns for how long everybody may share an answer. It is zero unless Cache-Control has exactly public and
// max-age.
func sharedFor(header http.Header) time.Duration {
	public, age := false, ""
	for _, directive := range strings.Split(strings.Join(header["Cache-Control"], ","), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name = strings.ToLower(name); {
		case name == "public" && value == "":
			public = true
		case name == "max-age" && age == "":
			age = value
		default:
			return 0
		}
	}
	seconds, err := strconv.ParseUint(age, 10, 31)
	if err != nil || !public {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
