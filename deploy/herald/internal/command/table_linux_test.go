package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"herald/shared/testkit"
)

// shownOn returns what a terminal of a width shows.
func shownOn(t *testing.T, columns uint16, write func(io.Writer) error) []string {
	t.Helper()
	person, program := testkit.Terminal(t, columns)
	if err := errors.Join(write(program), program.Close()); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(person)
	if err != nil && !errors.Is(err, syscall.EIO) { // the program has ended
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n"), "\n")
}

const id = "01a1fd55-e584-7cfb-947e-87d18b6d50c1"

// A table has the width of the terminal at most, and its ids are whole.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	names := []string{"id", "human.profile.displayName", "state", "human.email.email"}
	rows := [][]string{
		{id, "Mini Mouse of the Long Street in a Long Town", "USER_STATE_ACTIVE", "mini@example.com"},
		{"u2", "ミニマウスミニマウスミニマウスミニマウスミニマウス", "USER_STATE_LOCKED", "e\u0301@example.com"},
	}
	for columns, want := range map[uint16][]string{
		200: {
			"id                                    human.profile.displayName                           " +
				"state              human.email.email",
			id + "  Mini Mouse of the Long Street in a Long Town        USER_STATE_ACTIVE  mini@example.com",
			"u2                                    ミニマウスミニマウスミニマウスミニマウスミニマウス  USER_STATE_LOCKED  " +
				"e\u0301@example.com",
		},
		80: {
			"id                                    ….displayName  state          …email.email",
			id + "  Mini Mouse o…  USER_STATE_A…  mini@exampl…",
			"u2                                    ミニマウスミ…  USER_STATE_L…  e\u0301@example.c…",
		},
		52: {
			"id                                    …e.displayName", id + "  Mini Mouse of…", "u2" +
				"                                    ミニマウスミ…",
			"Not shown, for lack of width: state,", "  human.email.email",
		},
		20: {"id", "01a1fd55-e584-7cfb-…", "u2", "Not shown, for lack", "  of width:", "  human.profile.displayName,",
			"  state,", "  human.email.email"},
	} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			got := shownOn(t, columns, func(w io.Writer) error { return writeTable(w, names, rows) })
			for _, line := range got {
				if wide(line) > int(columns) && strings.Contains(line, id) {
					t.Errorf("%q is wider", line)
				}
			}
			if strings.Join(got, "\n") != strings.Join(want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// The values of one object continue below themselves. A token stays whole.
func TestListFitsTheTerminal(t *testing.T) {
	t.Parallel()
	token := strings.Repeat("x", 40)
	got := shownOn(t, 30, func(w io.Writer) error {
		return writeList(w, []value{{"a", "one two three four five six"}, {"token", token}})
	})
	want := "a      one two three four five\n       six\ntoken  " + token
	if strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
}

// Where nobody looks, as in a file, everything is whole.
func TestTableInAFileIsWhole(t *testing.T) {
	t.Parallel()
	file, err := os.Create(t.TempDir() + "/file")
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 500)
	if err := errors.Join(writeTable(file, []string{"id"}, [][]string{{long}}), file.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file.Name()); err != nil || string(text) != "id\n"+long+"\n" {
		t.Errorf("%v %q", err, text)
	}
}
