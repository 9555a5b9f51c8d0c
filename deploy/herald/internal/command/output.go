package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// formats are the values of --output.
var formats = []string{"table", "json", "yaml", "id"}

// output says how an answer is printed.
type output struct {
	format  string
	columns []string
}

// flags adds the flags of the output. usual is the format without a flag.
func (o *output) flags(c *cobra.Command, flags *pflag.FlagSet, usual string) {
	flags.StringVarP(&o.format, "output", "o", usual, "table for people, json, yaml, or id: only the ids, one a line")
	_ = c.RegisterFlagCompletionFunc("output", // fails for unknown flags only
		cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
}

// known returns an error if there is no such format.
func (o *output) known() error {
	if slices.Contains(formats, o.format) {
		return nil
	}
	return fmt.Errorf("--output: there is no %q; choose one of %s", o.format, strings.Join(formats, ", "))
}

// check returns an error unless an answer of the contract can be printed like this. It is asked before the call,
// because a call that changed something should not end with an error of its output.
func (o *output) check(contract protoreflect.MessageDescriptor) error {
	if err := o.known(); err != nil {
		return err
	}
	if len(o.columns) > 0 && o.format != "table" && o.format != "id" {
		return fmt.Errorf("--columns: -o %s prints everything; choose -o table, or -o id for values alone", o.format)
	}
	object := contract
	if results := resultsOf(contract); results != nil {
		object = results.Message()
	}
	for _, name := range o.columns {
		if pathOf(object, name) == "" {
			return fmt.Errorf("--columns: the answer has no %q; it has %s", name, strings.Join(namesOf(object), ", "))
		}
	}
	if o.format == "id" && len(o.columns) == 0 && idOf(object) == "" {
		return errors.New("--output: what this method answers has no id; name what to print with --columns, such as " +
			"--columns " + cmp.Or(append(namesOf(object), "")...))
	}
	return nil
}

// print writes an answer of the contract.
func (o *output) print(w io.Writer, contract protoreflect.MessageDescriptor, answer json.RawMessage) error {
	switch o.format {
	case "table":
		return o.printTable(w, contract, answer)
	case "yaml":
		return printYAML(w, answer)
	case "id":
		return o.printValues(w, contract, answer)
	}
	return printJSON(w, answer)
}

// printJSON writes the answer as it came, with names that this version does not know.
func printJSON(w io.Writer, answer json.RawMessage) error {
	var b bytes.Buffer
	if err := json.Indent(&b, answer, "", "  "); err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	_, err := fmt.Fprintln(w, safe(b.String()))
	return err
}

// printYAML writes the answer as YAML, with the names in their order.
func printYAML(w io.Writer, answer json.RawMessage) error {
	if !json.Valid(answer) {
		return errors.New("the answer is not JSON")
	}
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	node, err := yamlNode(d)
	if err != nil {
		return fmt.Errorf("the answer is not JSON: %w", err)
	}
	var b strings.Builder
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(node), e.Close()); err != nil {
		return err
	}
	_, err = io.WriteString(w, safe(b.String()))
	return err
}

// yamlNode reads a JSON value.
func yamlNode(d *json.Decoder) (*yaml.Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{Kind: yaml.SequenceNode}
	switch t := t.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: "null"}, nil
	case string:
		return yamlText(t), nil
	case json.Delim:
		if t == '{' {
			node.Kind = yaml.MappingNode
		}
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(t)}, nil
	}
	for d.More() {
		inner, err := yamlNode(d)
		if err != nil {
			return nil, err
		}
		node.Content = append(node.Content, inner)
	}
	_, err = d.Token()
	return node, err
}

// yamlText returns a text. One with characters that a terminal obeys has quotes, within which they are escaped.
func yamlText(text string) *yaml.Node {
	node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) {
		node.Style = yaml.DoubleQuotedStyle
	}
	return node
}

// printValues writes the ids of the results, or of the one object, or the values of the columns instead.
func (o *output) printValues(w io.Writer, contract protoreflect.MessageDescriptor, answer json.RawMessage) error {
	object, err := parse(answer)
	if err != nil {
		return err
	}
	objects := []any{object}
	if results := resultsOf(contract); results != nil {
		contract = results.Message()
		objects, _ = object[results.JSONName()].([]any)
	}
	columns := o.columns
	if len(columns) == 0 {
		columns = []string{idOf(contract)}
	}
	var b strings.Builder
	for _, one := range objects {
		var cells []string
		for _, name := range columns {
			cells = append(cells, text(lookUp(one, pathOf(contract, name))))
		}
		b.WriteString(strings.Join(cells, "\t") + "\n")
	}
	_, err = io.WriteString(w, b.String())
	return err
}

func parse(answer json.RawMessage) (object map[string]any, err error) {
	if err := json.Unmarshal(answer, &object); err != nil {
		return nil, fmt.Errorf("the answer is not JSON: %w", err)
	}
	return object, nil
}

// resultsOf returns the field with the results of a search, or nil for other answers.
func resultsOf(contract protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	if f := contract.Fields().ByName("result"); f != nil && f.IsList() && structured(f) {
		return f
	}
	return nil
}

// idOf returns the path of the id of an object: its own, or that of the object within it. It returns "" if there is no
// id.
func idOf(object protoreflect.MessageDescriptor) string {
	if f := within(object); f != nil {
		return f.JSONName() + "." + ownID(f.Message())
	}
	return ownID(object)
}

// within returns the field of an answer that has the object which it is about, such as user. It is the first one with
// an id, if the answer itself has none. Otherwise it returns nil.
func within(answer protoreflect.MessageDescriptor) protoreflect.FieldDescriptor {
	for i := 0; ownID(answer) == "" && i < answer.Fields().Len(); i++ {
		f := answer.Fields().Get(i)
		if structured(f) && !f.IsList() && ownID(f.Message()) != "" {
			return f
		}
	}
	return nil
}

// pathOf returns the path of a column in an answer, or "" if there is none. The object within the answer has the same
// columns as in a list: id stands for user.id.
func pathOf(answer protoreflect.MessageDescriptor, column string) string {
	if has(answer, column) {
		return column
	}
	if f := within(answer); f != nil && has(f.Message(), column) {
		return f.JSONName() + "." + column
	}
	return ""
}

// ownID returns the field that tells an object from others of its kind: its id, the first other field that ends in one,
// or its key.
func ownID(object protoreflect.MessageDescriptor) string {
	var found string
	for i := range object.Fields().Len() {
		switch f := object.Fields().Get(i); {
		case f.Kind() != protoreflect.StringKind || f.IsList():
		case f.Name() == "id":
			return "id"
		case found == "" && (strings.HasSuffix(string(f.Name()), "_id") || f.Name() == "key"):
			found = f.JSONName()
		}
	}
	return found
}

// has reports whether an object can have a value at a path.
func has(object protoreflect.MessageDescriptor, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		if object == nil {
			return false
		}
		f := object.Fields().ByJSONName(name)
		if f == nil {
			return false
		}
		object = nil
		if structured(f) && !f.IsList() {
			object = f.Message()
		}
	}
	return true
}

// lookUp returns the value at a path, or nil.
func lookUp(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// namesOf returns the names of the columns of an object in a table. An object within an answer has the same ones.
func namesOf(object protoreflect.MessageDescriptor) (names []string) {
	inner := within(object)
	if inner != nil {
		names = namesOf(inner.Message())
	}
	for _, v := range flatten(object, nil, "", tableLevels) {
		if inner == nil || !strings.HasPrefix(v.name, inner.JSONName()+".") {
			names = append(names, v.name)
		}
	}
	return names
}
