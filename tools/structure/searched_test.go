package structure

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestSearchedColumns(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	sources, err := read(tree)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := searched(sources, tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
	columns := 0
	for _, s := range sources {
		columns += len(searchColumn.FindAllString(s.text, -1))
	}
	if columns < 10 {
		t.Errorf("only %d columns were seen", columns)
	}
}

func TestSearchedColumnsAreCollated(t *testing.T) {
	t.Parallel()
	const dir = "services/a/internal/store/"
	sources := []source{}
	s, err := parse(dir+"a.go", head+`var c = search.Column{Exact: "t.name", Folded: "name_folded"}`)
	if err != nil {
		t.Fatal(err)
	}
	sources = append(sources, s)
	for name, c := range map[string]struct {
		sql  string
		want int
	}{
		"collated":          {`name text collate "C" not null, "name_folded" text collate "C"`, 0},
		"one is not":        {`name text collate "C", name_folded text not null`, 1},
		"in one table only": {`name text collate "C", name text, name_folded text collate "C"`, 1},
		"no columns":        {`other_name text collate "C"`, 2},
	} {
		tree := fstest.MapFS{dir + "migrations/001_a.sql": &fstest.MapFile{Data: []byte(c.sql)}}
		if wrong, err := searched(sources, tree); err != nil || len(wrong) != c.want {
			t.Errorf("%s: %q, %v", name, wrong, err)
		}
	}
}
