package exchange

import (
	"container/list"
	"net/http"
	"sync"
	"time"
)

const (
	// budgetPerPort is how many bytes the answers of one port may hold.
	budgetPerPort = 64 << 20
	// overhead is what an answer holds besides its own bytes: its request, buffers and stack.
	overhead = 32 << 10
	// piece is how much is written at a time. A client that has read a piece counts as one that reads.
	piece = 64 << 10
)

// budget bounds the memory of answers that clients ask for and do not read. When an answer does not fit any more, those
// answers are broken off whose clients have read nothing for the longest time.
type budget struct {
	most  int
	mu    sync.Mutex
	waits list.List // of *writer, the one first whose client has read nothing for the longest time
	held  int
}

// Bounded returns a handler for one port that bounds the memory of answers that clients do not read.
func Bounded(next http.Handler) http.Handler { return (&budget{most: budgetPerPort}).handler(next) }

// handler returns a handler whose answers count.
func (b *budget) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := &writer{ResponseWriter: rw, budget: b}
		next.ServeHTTP(w, r)
		if r.ProtoMajor == 2 && w.wrote { // otherwise small answers would wait uncounted afterwards
			w.Flush()
		}
	})
}

// Share marks an answer whose bytes are shared by all answers with the same content. The bytes are then not counted for
// each answer.
func Share(rw http.ResponseWriter) {
	for {
		if w, ok := rw.(*writer); ok {
			w.shared = true
			return
		}
		wrapper, ok := rw.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return
		}
		rw = wrapper.Unwrap()
	}
}

// begin counts an answer that is going to be written, and makes room for it.
func (b *budget) begin(w *writer, bytes int) *list.Element {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.held = bytes
	b.held += bytes
	for b.held > b.most && b.waits.Len() > 0 {
		b.breakOff(b.waits.Remove(b.waits.Front()).(*writer))
	}
	return b.waits.PushBack(w)
}

// breakOff makes the write of an answer fail. Its handler cannot return before, because end waits for b.mu.
func (b *budget) breakOff(w *writer) {
	b.held -= w.held
	w.held = 0
	// It cannot fail for a server of net/http.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}

// read records that a client has read a piece of its answer.
func (b *budget) read(at *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waits.MoveToBack(at)
}

func (b *budget) end(at *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held -= b.waits.Remove(at).(*writer).held
}

// writer writes one answer. held is what it holds at the moment.
type writer struct {
	http.ResponseWriter
	budget        *budget
	held          int
	shared, wrote bool
}

// Write implements http.ResponseWriter.
func (w *writer) Write(b []byte) (n int, err error) {
	w.wrote = true
	bytes := overhead
	if !w.shared {
		bytes += len(b)
	}
	at := w.budget.begin(w, bytes)
	defer w.budget.end(at)
	for {
		m, err := w.ResponseWriter.Write(b[n:min(len(b), n+piece)])
		if n += m; err != nil || n == len(b) {
			return n, err
		}
		w.budget.read(at)
	}
}

// Flush implements http.Flusher.
func (w *writer) Flush() {
	at := w.budget.begin(w, overhead)
	defer w.budget.end(at)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // fails if the client has closed the connection
}

// Unwrap is for http.ResponseController.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
