package caller

import "sync"

const (
	// mostVerified is how many headers are remembered. When there are more, all are dropped, which costs only one
	// verification per header. Headers are valid only for a short time.
	mostVerified = 1000
	// largestVerified is the size in bytes above which a header is not remembered.
	largestVerified = 4 << 10
)

// verified is a cache of headers whose signatures are valid.
type verified struct {
	mu      sync.RWMutex
	callers map[string]signed
}

// signed is a caller with the time when the signature expires, in milliseconds since 1970.
type signed struct {
	Caller
	expiresAt int64
}

func (v *verified) find(header string) (signed, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	s, ok := v.callers[header]
	return s, ok
}

func (v *verified) keep(header string, s signed) {
	if len(header) > largestVerified {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.callers) >= mostVerified {
		clear(v.callers)
	}
	v.callers[header] = s
}
