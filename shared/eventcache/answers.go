package eventcache

import "sync"

// maxAnswers is the largest number of answers in the cache. When it is reached, the cache is emptied.
const maxAnswers = 10_000

// Answers is a cache of answers by question. It is safe for concurrent use.
type Answers[K comparable, V any] struct {
	changes *Changes
	mu      sync.RWMutex
	kept    map[K]answer[V]
}

type answer[V any] struct {
	value V
	asked Moment
	about []Subject
}

// NewAnswers returns an empty cache.
func NewAnswers[K comparable, V any](c *Changes) *Answers[K, V] {
	return &Answers[K, V]{changes: c, kept: map[K]answer[V]{}}
}

// Find returns the cached answer to a question. It reports false if there is no answer that is still valid.
func (a *Answers[K, V]) Find(question K) (V, bool) {
	a.mu.RLock()
	found, ok := a.kept[question]
	a.mu.RUnlock()
	return found.value, ok && a.changes.unchanged(found.asked, found.about)
}

// Keep puts an answer into the cache, with all subjects that it is about. asked is a moment before the question was
// asked. Refusals must not be cached, because not every event that would end a refusal is received.
func (a *Answers[K, V]) Keep(question K, value V, asked Moment, about ...Subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) >= maxAnswers {
		clear(a.kept)
	}
	a.kept[question] = answer[V]{value, asked, about}
}

// Ask returns the cached answer. If there is no valid one, it calls ask, which also returns the subjects of the
// answer, and caches the result. An answer without subjects is not cached. A nil cache calls ask every time.
func (a *Answers[K, V]) Ask(question K, ask func() (V, []Subject, error)) (V, error) {
	if a == nil {
		value, _, err := ask()
		return value, err
	}
	if found, ok := a.Find(question); ok {
		return found, nil
	}
	asked := a.changes.Now()
	value, about, err := ask()
	if err == nil && len(about) > 0 {
		a.Keep(question, value, asked, about...)
	}
	return value, err
}
