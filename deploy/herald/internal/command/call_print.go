package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"google.golang.org/protobuf/reflect/protoreflect"

	heraldv1 "herald/shared/gen/herald/v1"
)

// The depth to which nested objects are shown: as columns in a table of results, as lines in a
// list of one object's values.
const (
	tableLevels = 1
	listLevels  = 32
)

// printTable writes the results of a search one a line, with their number below, and every other
// answer as a list. Without named columns it leaves out those without any value.
func (o *output) printTable(w io.Writer, contract protoreflect.MessageDescriptor, answer json.RawMessage) error {
	object, err := parse(answer)
	if err != nil {
		return err
	}
	if f := resultsOf(contract); f != nil {
		results, _ := object[f.JSONName()].([]any)
		names, rows := o.rows(f.Message(), results)
		if len(names) > 0 {
			if err := writeTable(w, names, rows); err != nil {
				return err
			}
		}
		details, _ := object["details"].(map[string]any)
		total := cmp.Or(text(details["totalResult"]), fmt.Sprint(len(results)))
		_, err := fmt.Fprintf(w, "%d of %s\n", len(results), total)
		return err
	}
	var values []value
	for _, name := range o.columns {
		values = append(values, value{name, text(lookUp(object, pathOf(contract, name)))})
	}
	if len(o.columns) == 0 {
		values = slices.DeleteFunc(flatten(contract, object, "", listLevels),
			func(v value) bool { return v.text == "" })
	}
	return writeList(w, values)
}

// rows returns the names of the columns, and the cells of each result. Lists and the times of the last changes are
// last, because they are left out first on a narrow terminal.
func (o *output) rows(contract protoreflect.MessageDescriptor, results []any) (names []string, rows [][]string) {
	all := o.columns
	if len(all) == 0 {
		all = namesOf(contract)
		slices.SortStableFunc(all, func(a, b string) int {
			return cmp.Compare(rank(contract, a), rank(contract, b))
		})
	}
	rows = make([][]string, len(results))
	for _, name := range all {
		var cells []string
		for _, result := range results {
			cells = append(cells, text(lookUp(result, name)))
		}
		if len(o.columns) == 0 && strings.Join(cells, "") == "" {
			continue
		}
		names = append(names, name)
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	return names, rows
}

func rank(contract protoreflect.MessageDescriptor, name string) int {
	f := contract.Fields().ByJSONName(name)
	switch {
	case name == "details.changeDate":
		return 2
	case f != nil && f.IsList():
		return 1
	}
	return 0
}

// value is a value in an answer, with its path as its name.
type value struct{ name, text string }

// flatten returns an object's values in the order of its contract. For a table it returns the same
// names for every object, without lists of objects, most of the details, and most of what is nested deeper.
func flatten(contract protoreflect.MessageDescriptor, object map[string]any, prefix string, levels int) []value {
	var all []value
	for i := range contract.Fields().Len() {
		f := contract.Fields().Get(i)
		name, v := prefix+f.JSONName(), object[f.JSONName()]
		inner, _ := v.(map[string]any)
		switch deep, nested := levels > tableLevels, structured(f); {
		case nested && !deep && f.Message().FullName() == detailsName:
			all = append(all, value{name + ".changeDate", text(inner["changeDate"])})
		case nested && !f.IsList() && (inner != nil || !deep) && levels > 0:
			all = append(all, flatten(f.Message(), inner, name+".", levels-1)...)
		case nested && !f.IsList() && !deep:
			all = append(all, naming(f, inner, name+".")...)
		case !nested || deep:
			all = append(all, value{name, text(v)})
		}
	}
	return all
}

// naming returns the values that stand for an inner object in a table. They are its display name and the field that has
// the same name as the object, such as email.email.
func naming(field protoreflect.FieldDescriptor, object map[string]any, prefix string) []value {
	var all []value
	for i := range field.Message().Fields().Len() {
		if f := field.Message().Fields().Get(i); f.Name() == field.Name() || f.Name() == "display_name" {
			all = append(all, value{prefix + f.JSONName(), text(object[f.JSONName()])})
		}
	}
	return all
}

var detailsName = (&heraldv1.ObjectDetails{}).ProtoReflect().Descriptor().FullName()

// structured reports whether a field's values are messages of our contracts.
func structured(f protoreflect.FieldDescriptor) bool {
	return f.Message() != nil && !f.IsMap() && f.Message().ParentFile().Package() != "google.protobuf"
}

// text returns a value on one line.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return line(v)
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, text(item))
		}
		return strings.Join(items, ", ")
	}
	b, _ := json.Marshal(v) // cannot fail: v was parsed from JSON
	return line(string(b))
}

// safe replaces control characters by JSON escapes, because a terminal would execute them. It keeps line breaks.
func safe(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case unicode.IsGraphic(r) || r == '\n':
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// line returns a safe text without line breaks.
func line(text string) string { return safe(strings.ReplaceAll(text, "\n", `\n`)) }

// sketch returns a message as JSON, with types in place of values. For a message within itself it
// returns only the name.
func sketch(d protoreflect.MessageDescriptor, outer ...protoreflect.MessageDescriptor) string {
	outer = append(slices.Clip(outer), d)
	var fields []string
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		shape := fmt.Sprintf("%q", kind(f))
		if structured(f) && !slices.Contains(outer, f.Message()) {
			shape = sketch(f.Message(), outer...)
		}
		if f.IsList() {
			shape = "[" + shape + "]"
		}
		fields = append(fields, fmt.Sprintf("%q:%s", f.JSONName(), shape))
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// kind returns the type of a single value, or the names of an enumeration.
func kind(f protoreflect.FieldDescriptor) string {
	switch {
	case f.Message() != nil:
		return string(f.Message().FullName())
	case f.Enum() == nil:
		return f.Kind().String()
	}
	var names []string
	for i := range f.Enum().Values().Len() {
		names = append(names, string(f.Enum().Values().Get(i).Name()))
	}
	return strings.Join(names, " | ")
}
