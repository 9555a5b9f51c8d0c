package structure

import (
	"fmt"
	"io/fs"
	"regexp"
)

var searchColumn = regexp.MustCompile(`search\.Column\{Exact: "(?:\w+\.)?(\w+)", Folded: "(?:\w+\.)?(\w+)"\}`)

// searched checks that the columns in which stores search for texts have the collation "C" in the
// migrations. With another one a prefix finds wrong rows, and no index serves the search.
func searched(sources []source, tree fs.FS) (wrong []string, err error) {
	for _, s := range sources {
		service := inService.FindString(s.dir())
		if service == "" || s.test() {
			continue
		}
		for _, names := range searchColumn.FindAllStringSubmatch(s.text, -1) {
			for _, name := range names[1:] {
				found, err := collated(tree, service, name)
				if err != nil {
					return nil, err
				}
				if !found {
					wrong = append(wrong, fmt.Sprintf(
						`%s: the column %s is searched: define it as text collate "C"`, s.path, name))
				}
			}
		}
	}
	return wrong, nil
}

// collated reports whether the migrations of a service define a column, always with the collation "C".
func collated(tree fs.FS, service, column string) (bool, error) {
	files, err := fs.Glob(tree, service+"/internal/store/migrations/*.sql")
	if err != nil {
		return false, err
	}
	defined := regexp.MustCompile(`\b` + column + `"? +text\b( collate "C")?`)
	found := false
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return false, err
		}
		for _, definition := range defined.FindAllStringSubmatch(string(text), -1) {
			if definition[1] == "" {
				return false, nil
			}
			found = true
		}
	}
	return found, nil
}
