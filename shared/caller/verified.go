package caller

import "sync"

const (
	// mostVerified is how many headers are remembered. They are short-lived: when there
	// are more, starting afresh costs one check each.
	mostVerified = 1000
	// largestVerified is the size in bytes above which a header is not remembered.
	largestVerified = 4 << 10
)

// verified are the headers whose signatures were found right.
type verified struct {
	mu      sync.RWMutex
	callers map[string]signed
}

// signed is a caller and, in milliseconds since 1970, the end of the signature's time.
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
