package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"google.golang.org/protobuf/reflect/protoreflect"

	heraldv1 "herald/shared/gen/herald/v1"
)

// printer writes an answer in a form that is safe for a terminal.
type printer func(w io.Writer, contract protoreflect.MessageDescriptor, answer json.RawMessage) error

// printJSON writes the answer as it came, with names that this version does not know.
func printJSON(w io.Writer, _ protoreflect.MessageDescriptor, answer json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(w, safe(b.String()))
	return err
}

// The depth to which nested objects are shown: as columns in a table of results, as lines in a
// list of one object's values.
const (
	tableLevels = 1
	listLevels  = 32
)

// printTable writes the results of a search one a line, with their number below, and every other
// answer as a list. It leaves out columns without any value.
func printTable(w io.Writer, contract protoreflect.MessageDescriptor, answer json.RawMessage) error {
	var object map[string]any
	if err := json.Unmarshal(answer, &object); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if f := contract.Fields().ByName("result"); f != nil && f.IsList() && structured(f) {
		results, _ := object[f.JSONName()].([]any)
		for _, cells := range columns(f.Message(), results) {
			fmt.Fprintln(table, strings.Join(cells, "\t"))
		}
		details, _ := object["details"].(map[string]any)
		fmt.Fprintf(table, "%d of %s\n", len(results), cmp.Or(text(details["totalResult"]), fmt.Sprint(len(results))))
		return table.Flush()
	}
	for _, v := range flatten(contract, object, "", listLevels) {
		if v.text != "" {
			fmt.Fprintf(table, "%s\t%s\n", v.name, v.text)
		}
	}
	return table.Flush()
}

// columns returns a line of names and a line for each result.
func columns(contract protoreflect.MessageDescriptor, results []any) [][]string {
	var rows [][]value
	for _, result := range results {
		object, _ := result.(map[string]any)
		rows = append(rows, flatten(contract, object, "", tableLevels))
	}
	lines := make([][]string, 1+len(rows))
	for i, head := range flatten(contract, nil, "", tableLevels) {
		if !slices.ContainsFunc(rows, func(row []value) bool { return row[i].text != "" }) {
			continue
		}
		lines[0] = append(lines[0], head.name)
		for n, row := range rows {
			lines[n+1] = append(lines[n+1], short(row[i].text))
		}
	}
	return slices.DeleteFunc(lines, func(cells []string) bool { return len(cells) == 0 })
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

// short cuts a text to the width of a column.
func short(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
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
