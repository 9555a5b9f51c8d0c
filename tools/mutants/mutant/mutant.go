// Package mutant is compiled into programs under test as herald/shared/mutant, a package that the repository does not
// have. Each check that can be removed is wrapped in a call of its functions. The processes of a test share a file. The
// file says which check is removed now, and records which checks were reached.
package mutant

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// Cells is the number of 32-bit numbers in the file. The first one is the number of the removed
// check, or 0. The others say, by the numbers of the checks, whether they were reached.
const Cells = 1 << 12

// cells is the file, or private memory if there is none.
var cells = open(os.Getenv("MUTANTS"))

func open(name string) *[Cells]uint32 {
	if name == "" {
		return new([Cells]uint32)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	memory, err := syscall.Mmap(int(f.Fd()), 0, 4*Cells, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return (*[Cells]uint32)(unsafe.Pointer(&memory[0]))
}

// Removed records that a check was reached, and reports whether it is removed.
func Removed(n int) bool {
	atomic.StoreUint32(&cells[n], 1)
	return atomic.LoadUint32(&cells[0]) == uint32(n)
}

// Dropped is Removed for a check that the contract of a method asks for.
func Dropped(check, method string) bool {
	n, ok := numbers[check+" "+method]
	return ok && Removed(n)
}

// Never is a condition that does not hold while the check n is removed.
func Never(n int, condition bool) bool { return !Removed(n) && condition }

// Always is a condition that holds while the check n is removed.
func Always(n int, condition bool) bool { return Removed(n) || condition }

// Without is the tag of a switch, which does not match value while the check n is removed.
func Without[T comparable](n int, tag, value T) T {
	if Removed(n) && tag == value {
		var none T
		return none
	}
	return tag
}

var marked = regexp.MustCompile(`(?s)/\*mutant (\d+)\*/(.*?)/\*end\*/`)

// SQL returns a statement in which the removed condition always holds. Its arguments are used as
// before.
func SQL(statement string) string {
	if !strings.Contains(statement, "/*mutant ") {
		return statement
	}
	return marked.ReplaceAllStringFunc(statement, func(found string) string {
		parts := marked.FindStringSubmatch(found)
		if n, _ := strconv.Atoi(parts[1]); Removed(n) {
			return "(true or " + parts[2] + ")"
		}
		return parts[2]
	})
}
