package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"buf.build/gen/go/bufbuild/protovalidate/protocolbuffers/go/buf/validate"
	"buf.build/go/protovalidate"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	heraldv1 "herald/shared/gen/herald/v1"
)

// reason returns what is wrong with a field of a message, in words for a person. checkFields makes sure that every
// rule of a contract has such words.
func reason(m protoreflect.MessageDescriptor, v *protovalidate.Violation) string {
	f := v.FieldDescriptor
	rules := rulesOf(f)
	path := v.Proto.GetRule().GetElements()
	if len(path) > 1 && path[0].GetFieldName() == "repeated" && path[1].GetFieldName() == "items" {
		f = fieldAt(m, v.Proto.GetField()) // the validator names no field for an element of a list
		rules = rulesOf(f).GetRepeated().GetItems()
	}
	if f == nil { // a rule for a whole message has its own text
		return v.Proto.GetMessage()
	}
	if said := words(f, rules, v.Proto.GetRuleId()); said != "" {
		return said
	}
	return v.Proto.GetMessage()
}

// fieldAt returns the field at a path below a message.
func fieldAt(m protoreflect.MessageDescriptor, path *validate.FieldPath) (f protoreflect.FieldDescriptor) {
	for _, e := range path.GetElements() {
		f = m.Fields().ByNumber(protoreflect.FieldNumber(e.GetFieldNumber()))
		m = f.Message()
	}
	return f
}

// words returns what a rule demands of a field. It returns an empty text for an unknown rule.
func words(f protoreflect.FieldDescriptor, rules *validate.FieldRules, rule string) string {
	switch rule {
	case "required":
		return "is required"
	case "string.min_len", "string.max_len":
		return between(rules.GetString().GetMinLen(), rules.GetString().GetMaxLen(), "characters")
	case "string.max_bytes":
		return between(0, rules.GetString().GetMaxBytes(), "bytes")
	case "bytes.max_len":
		return between(0, rules.GetBytes().GetMaxLen(), "bytes")
	case "string.not_in":
		return "must not be one of " + strings.Join(rules.GetString().GetNotIn(), ", ")
	case "string.pattern":
		says, _ := proto.GetExtension(f.Options(), heraldv1.E_Says).(string)
		return says
	case "enum.defined_only", "enum.not_in":
		return OneOf(f)
	case "repeated.min_items", "repeated.max_items":
		return between(rules.GetRepeated().GetMinItems(), rules.GetRepeated().GetMaxItems(), "elements")
	case "repeated.unique":
		return "must not hold the same value twice"
	}
	if kind, name, _ := strings.Cut(rule, "."); kind == "duration" && strings.Trim(name, "gtel_") == "" {
		d := rules.GetDuration()
		return fmt.Sprintf("must be %ds to %ds", d.GetGte().GetSeconds(), d.GetLte().GetSeconds())
	}
	return ""
}

// OneOf returns the allowed values of an enum field or of a list of enums, as the reason of a fault.
func OneOf(f protoreflect.FieldDescriptor) string {
	rules := rulesOf(f)
	if f.IsList() {
		rules = rules.GetRepeated().GetItems()
	}
	return "must be one of " + strings.Join(allowed(f.Enum(), rules.GetEnum().GetNotIn()), ", ")
}

// between returns the words for a length from least to most. If most is 0, there is no upper bound.
func between(least, most uint64, of string) string {
	switch {
	case most == 0 && least == 1:
		return "must not be empty"
	case most == 0:
		return fmt.Sprintf("must have at least %d %s", least, of)
	case least == 0:
		return fmt.Sprintf("must have at most %d %s", most, of)
	}
	return fmt.Sprintf("must have %d to %d %s", least, most, of)
}

// allowed returns the names of an enum's values, without those whose numbers are in not.
func allowed(e protoreflect.EnumDescriptor, not []int32) (names []string) {
	for i := range e.Values().Len() {
		if v := e.Values().Get(i); !slices.Contains(not, int32(v.Number())) {
			names = append(names, string(v.Name()))
		}
	}
	return names
}

// rulesOf returns the rules of a field, or nil if there is no field or no rule.
func rulesOf(f protoreflect.FieldDescriptor) *validate.FieldRules {
	if f == nil {
		return nil
	}
	rules, _ := proto.GetExtension(f.Options(), validate.E_Field).(*validate.FieldRules)
	return rules
}

// checkFields refuses a public method if a list of its request has no largest length, or if a rule has no words for
// people. A streamed request is an exception, because its lists reach the method in bounded batches.
func (m Method) checkFields() error {
	bounded := len(m.Access.GetInternal()) == 0 && !m.Streamed
	var faults []error
	seen := map[protoreflect.FullName]bool{}
	var check func(protoreflect.MessageDescriptor)
	check = func(d protoreflect.MessageDescriptor) {
		if seen[d.FullName()] || d.ParentFile().Package() == "google.protobuf" {
			return
		}
		seen[d.FullName()] = true
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			faults = append(faults, checkWords(f))
			if bounded && f.IsList() && rulesOf(f).GetRepeated().GetMaxItems() == 0 {
				faults = append(faults, fmt.Errorf("%s is a list of any length, which lets one call take all of the "+
					"machine's time: add (buf.validate.field).repeated.max_items", f.FullName()))
			}
			if f.Message() != nil && !f.IsMap() {
				check(f.Message())
			}
		}
	}
	check(m.Input())
	return errors.Join(faults...)
}

func checkWords(f protoreflect.FieldDescriptor) error {
	rules := rulesOf(f)
	for _, of := range []*validate.FieldRules{rules, rules.GetRepeated().GetItems()} {
		for _, rule := range ruleNames(of) {
			if words(f, of, rule) == "" {
				return fmt.Errorf("a caller would not understand the rule %s of %s: add the option herald.v1.says "+
					"to a pattern, a case to words in shared/contract/reason.go for any other rule", rule, f.FullName())
			}
		}
	}
	return nil
}

// ruleNames returns the names of the rules that are set, such as string.max_len. These are the names that
// protovalidate uses.
func ruleNames(rules *validate.FieldRules) (names []string) {
	if rules.GetType() == nil {
		return nil
	}
	outer := rules.ProtoReflect()
	kind := outer.WhichOneof(outer.Descriptor().Oneofs().ByName("type"))
	outer.Get(kind).Message().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if f.Name() != "items" {
			names = append(names, string(kind.Name())+"."+string(f.Name()))
		}
		return true
	})
	return names
}
