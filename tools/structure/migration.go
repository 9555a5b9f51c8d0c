package structure

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// uncollated are migrations that are older than the rule. Their columns are not searched or compared.
var uncollated = map[string]bool{
	"services/text/internal/store/migrations/001_texts.sql":           true,
	"services/users/internal/store/migrations/030_tokens_of_apps.sql": true,
}

// ofAllMembers are migrations that may read the memberships in all states, each with the reason.
var ofAllMembers = map[string]string{
	"services/users/internal/store/migrations/004_instance_has_owner.sql":  "no membership in the instance is pending",
	"services/users/internal/store/migrations/033_pending_memberships.sql": "it defines active_members",
}

// textColumn is the definition of a column of texts, up to its collation. A column with lists of texts has no
// collation.
var textColumn = regexp.MustCompile(`(?im)(?:^ +|\badd column +(?:if not exists +)?)"?(\w+)"? +text\b` +
	`(\[\]| collate "C")?`)

// migrations checks that the migrations of each service are numbered from 001 without a gap, because a
// service with two of the same number does not start, and that columns of texts have the collation "C". With another
// one a prefix finds wrong rows, no index serves a search, and the order depends on the machine. Functions and views
// read only memberships that were accepted.
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
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		for _, column := range textColumn.FindAllStringSubmatch(string(text), -1) {
			if column[2] == "" && !uncollated[file] {
				wrong = append(wrong, fmt.Sprintf(`%s: define %s as text collate "C"`, file, column[1]))
			}
		}
		found := allMembers.FindString(deletes.ReplaceAllString(string(text), "delete"))
		if found != "" && ofAllMembers[file] == "" {
			wrong = append(wrong, fmt.Sprintf("%s: SQL says %s: read active_members", file, found))
		}
	}
	return wrong, nil
}
