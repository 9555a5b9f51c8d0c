package structure

import (
	"os"
	"strings"
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

func TestRulesOfMigrations(t *testing.T) {
	t.Parallel()
	const dir = "services/users/internal/store/migrations/"
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"in order": {map[string]string{"001_a.sql": "", "002_b.sql": ""}, ""},
		"the same number": {map[string]string{"001_a.sql": "", "002_b.sql": "", "002_c.sql": ""},
			dir + "002_c.sql: the next migration here is 003_: give it that number"},
		"a gap": {map[string]string{"001_a.sql": "", "003_b.sql": ""},
			dir + "003_b.sql: the next migration here is 002_: give it that number"},
		"a collated column": {map[string]string{"001_a.sql": "create table a (\n    \"b\" text collate \"C\" " +
			"not null\n)"}, ""},
		"a list of texts": {map[string]string{"001_a.sql": "create table a (\n    b text[] not null\n)"}, ""},
		"a parameter":     {map[string]string{"001_a.sql": "create function f(a text) returns text"}, ""},
		"a column": {map[string]string{"001_a.sql": "create table a (\n    b   text not null\n)"},
			dir + `001_a.sql: define b as text collate "C"`},
		"an added column": {map[string]string{"001_a.sql": "alter table a add column b text not null"},
			dir + `001_a.sql: define b as text collate "C"`},
		"members who have accepted": {map[string]string{"001_a.sql": "delete from members where id in (select id " +
			"from active_members); create trigger a after insert on members"}, ""},
		"all members": {map[string]string{"001_a.sql": "create view a as select id from members m"},
			dir + "001_a.sql: SQL says from members: read active_members"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tree := fstest.MapFS{}
			for name, text := range c.files {
				tree[dir+name] = &fstest.MapFile{Data: []byte(text)}
			}
			if wrong, err := migrations(tree); err != nil || strings.Join(wrong, "\n") != c.want {
				t.Errorf("%q, %v", wrong, err)
			}
		})
	}
}
