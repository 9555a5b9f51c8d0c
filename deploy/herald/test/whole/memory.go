package whole

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// PeakMemory returns the largest resident set that a running process had, in bytes. It returns 0 if the process has
// ended, and on systems without /proc.
func PeakMemory(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.Atoi(strings.Fields(value)[0])
			return kib << 10
		}
	}
	return 0
}
