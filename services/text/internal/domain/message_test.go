package domain

import (
	"reflect"
	"testing"

	"herald/shared/history"
)

// Each part falls back on its own, and any part alone makes the whole not default.
func TestOr(t *testing.T) {
	t.Parallel()
	standard := Texts{"t", "p", "s", "g", "x", "b", "f"}
	if got := (Texts{}).Or(standard); got != standard {
		t.Errorf("nothing of its own: %+v", got)
	}
	for i := range reflect.TypeFor[Texts]().NumField() {
		var own Texts
		reflect.ValueOf(&own).Elem().Field(i).SetString("own")
		want := standard
		reflect.ValueOf(&want).Elem().Field(i).SetString("own")
		if got := own.Or(standard); got != want {
			t.Errorf("%+v over the default = %+v", own, got)
		}
		if (Custom{Texts: own}).IsDefault() {
			t.Errorf("%+v passes for the default", own)
		}
	}
	if !(Custom{Record: history.Record{Sequence: 7}}).IsDefault() {
		t.Error("empty texts do not pass for the default")
	}
}
