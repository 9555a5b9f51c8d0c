package boot

import (
	"os"
	"runtime/debug"
	"sync"
)

// most is the size of a process from which garbage is collected more often, because a bulk import makes much garbage.
// The memory in use may be larger, for example while a password is hashed.
const most = 220 << 20

// BoundMemory sets the memory limit of the process, unless GOMEMLIMIT is set.
func BoundMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(most)
	}
}

// spare is a block that is never used. With it garbage grows to about 40 MB before it is collected, even if little
// memory is in use; without it an eighth of the work was collecting garbage. A larger GOGC would keep the large
// blocks of password hashes too.
var spare = sync.OnceValue(func() []byte { return make([]byte, 32<<20) })

// Started marks the process as ready. It also returns the memory of the start, half of which is garbage, to the system:
// an idle process would keep it. The spare block is made only now, so that the start leaves a small heap behind.
func (g Ground) Started() {
	g.Health.Started()
	go func() {
		debug.FreeOSMemory()
		spare()
	}()
}
