package eventcache

import "sync"

// maxAnswers is how many answers are kept. When there are more, all are forgotten.
const maxAnswers = 10_000

// Answers are what was answered lately, by the question. It is safe for concurrent use.
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

// NewAnswers returns no answers yet.
func NewAnswers[K comparable, V any](c *Changes) *Answers[K, V] {
	return &Answers[K, V]{changes: c, kept: map[K]answer[V]{}}
}

// Find returns an answer that may be used. It reports false if there is none.
func (a *Answers[K, V]) Find(question K) (V, bool) {
	a.mu.RLock()
	found, ok := a.kept[question]
	a.mu.RUnlock()
	return found.value, ok && a.changes.unchanged(found.asked, found.about)
}

// Keep keeps an answer with all that it is about. asked is a moment before the question was asked. Refusals must not be
// kept, because not every event with which one ends is heard.
func (a *Answers[K, V]) Keep(question K, value V, asked Moment, about ...Subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.kept) >= maxAnswers {
		clear(a.kept)
	}
	a.kept[question] = answer[V]{value, asked, about}
}

// Ask returns the answer that may be used, or else that of ask, which also returns what it is about. An answer about
// nothing is not kept. Answers that are nil keep none.
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
