package domain

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"herald/shared/gen/fault/textfault"
	"herald/shared/resource"
)

// Each empty part has its default text. With any one part of its own a text is not the default.
func TestEmptyPartsHaveTheDefault(t *testing.T) {
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
			t.Errorf("%+v is default", own)
		}
	}
	if !(Custom{Record: resource.Record{Sequence: 7}}).IsDefault() {
		t.Error("empty texts are not default")
	}
}

// A message can do without a footer. An empty one still stands for the default text.
func TestFooterOfWhiteSpaceIsNone(t *testing.T) {
	t.Parallel()
	defaults := Texts{Title: "title", FooterText: "footer"}
	for given, want := range map[string]string{"": "footer", " ": "", "\r\n\t": "", "own": "own"} {
		texts, err := Texts{FooterText: given}.Accept("init")
		if err != nil {
			t.Errorf("%q: %v", given, err)
		}
		if got := texts.Or(defaults); got.FooterText != want || got.Title != "title" {
			t.Errorf("%q: %+v", given, got)
		}
		if c := (Custom{Texts: texts}); c.IsDefault() != (given == "") {
			t.Errorf("%q is the default text: %t", given, c.IsDefault())
		}
	}
	if _, err := (Texts{ButtonText: " "}).Accept("init"); err == nil {
		t.Error("a button without text")
	}
}

func TestOwnTextIsWrittenAndReset(t *testing.T) {
	t.Parallel()
	var c Custom
	if err := c.Reset(); !errors.Is(err, textfault.ErrCustomTextNotFound) {
		t.Errorf("nothing to reset: %v", err)
	}
	if changed := c.Write(Texts{}); changed != nil {
		t.Errorf("nothing written changed %v", changed)
	}
	if changed := c.Write(Texts{Subject: "s", FooterText: "f"}); !slices.Equal(changed,
		[]string{"subject", "footerText"}) {
		t.Errorf("changed %v", changed)
	}
	if changed := c.Write(Texts{Title: "t", Subject: "s"}); !slices.Equal(changed, []string{"title", "footerText"}) {
		t.Errorf("changed %v", changed)
	}
	if err := c.Reset(); err != nil || !c.IsDefault() {
		t.Errorf("%v, %+v", err, c)
	}
}
