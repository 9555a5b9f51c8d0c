package structure

import (
	"os"
	"testing"
	"testing/fstest"
)

func TestMigrations(t *testing.T) {
	t.Parallel()
	wrong, err := migrations(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func TestMigrationsAreNumbered(t *testing.T) {
	t.Parallel()
	const dir = "services/users/internal/store/migrations/"
	for name, c := range map[string]struct {
		files []string
		want  int
	}{
		"in order":     {[]string{"001_a.sql", "002_b.sql"}, 0},
		"the same one": {[]string{"001_a.sql", "002_b.sql", "002_c.sql"}, 1},
		"a gap":        {[]string{"001_a.sql", "003_b.sql"}, 1},
	} {
		tree := fstest.MapFS{}
		for _, f := range c.files {
			tree[dir+f] = &fstest.MapFile{}
		}
		if wrong, err := migrations(tree); err != nil || len(wrong) != c.want {
			t.Errorf("%s: %v, %v", name, wrong, err)
		}
	}
}
