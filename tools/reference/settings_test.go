package main

import (
	"slices"
	"testing"
)

func TestSettingsAreReadFromTheirList(t *testing.T) {
	t.Parallel()
	got := Settings(`HERALD_LISTEN
    default: :8080
    Where to listen.
HERALD_MASTER_KEY
    or HERALD_MASTER_KEY_FILE: a file that holds it
    The key.
`)
	want := []Setting{
		{Name: "HERALD_LISTEN", Default: ":8080", Help: "Where to listen."},
		{Name: "HERALD_MASTER_KEY", Help: "The key.", Secret: true},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
