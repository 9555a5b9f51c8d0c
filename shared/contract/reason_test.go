package contract

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"herald/shared/fault"
)

// A rule that is broken by an element of a list is told in the words of the contract, at the path of the element.
func TestElementsOfListsAreRefusedInWords(t *testing.T) {
	t.Parallel()
	methods, err := AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	seen, lists := map[protoreflect.FullName]bool{}, 0
	var check func(protoreflect.MessageDescriptor)
	check = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] || d.ParentFile().Package() == "google.protobuf" {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			for _, rule := range ruleNames(rulesOf(f).GetRepeated().GetItems()) {
				lists++
				checkElement(t, f, rule)
			}
			if f.Message() != nil && !f.IsMap() {
				check(f.Message())
			}
		}
	}
	for _, m := range methods {
		check(m.Input())
	}
	if lists < 20 {
		t.Errorf("only %d rules of elements were broken", lists)
	}
}

// checkElement breaks a rule with the second element of a list. The first element is one that the rule allows.
func checkElement(t *testing.T, f protoreflect.FieldDescriptor, rule string) {
	t.Helper()
	items := rulesOf(f).GetRepeated().GetItems()
	element := protoreflect.ValueOfString("")
	switch rule {
	case "string.min_len":
	case "string.max_len":
		element = protoreflect.ValueOfString(strings.Repeat("a", int(items.GetString().GetMaxLen())+1))
	case "string.pattern":
		element = protoreflect.ValueOfString("\x01")
	case "enum.defined_only":
		element = protoreflect.ValueOfEnum(99)
	case "enum.not_in":
		element = protoreflect.ValueOfEnum(protoreflect.EnumNumber(items.GetEnum().GetNotIn()[0]))
	default:
		t.Errorf("%s: say here which element breaks %s", f.FullName(), rule)
		return
	}
	m := dynamicpb.NewMessage(f.ContainingMessage())
	list := m.Mutable(f).List()
	for range 2 {
		list.Append(element)
	}
	path := fmt.Sprintf("%s[1]", f.JSONName())
	for _, w := range fault.From(Validate(m)).Fields {
		if w.Path == path {
			if want := words(f, items, rule); w.Reason != want {
				t.Errorf("%s breaks %s: said %q, want %q", path, rule, w.Reason, want)
			}
			return
		}
	}
	t.Errorf("no fault is at %s, which breaks %s", path, rule)
}
