package structure

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// migrations checks that the migrations of each service are numbered from 001 without a gap. A
// service with two of the same number does not start.
func migrations(tree fs.FS) (wrong []string, err error) {
	files, err := fs.Glob(tree, "services/*/internal/store/migrations/*.sql")
	if err != nil {
		return nil, err
	}
	next := map[string]int{}
	for _, file := range files { // sorted
		dir := path.Dir(file)
		next[dir]++
		if want := fmt.Sprintf("%03d_", next[dir]); !strings.HasPrefix(path.Base(file), want) {
			wrong = append(wrong, fmt.Sprintf("%s: the next migration here is %s: give it that number", file, want))
		}
	}
	return wrong, nil
}
