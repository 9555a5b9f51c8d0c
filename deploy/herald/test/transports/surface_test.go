package transports_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/surface.golden anew")

// The interface for programs in the generated documents has not changed: operations, errors, events and settings. Names
// of gRPC services, texts and the order of fields do not matter. A new feature adds lines, with -update. A lost or
// changed line breaks programs.
func TestSurface(t *testing.T) {
	t.Parallel()
	const golden = "testdata/surface.golden"
	s := surface{T: t, schemas: map[string]any{}}
	s.operations("../../../../docs/openapi.json")
	s.events("../../../../docs/asyncapi.json")
	s.table("error", "../../../../docs/errors.md")
	s.table("setting", "../../../../docs/settings.md")
	slices.Sort(s.lines)
	s.lines = slices.Compact(s.lines)
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(s.lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	for _, line := range before {
		if _, found := slices.BinarySearch(s.lines, line); !found {
			t.Errorf("lost: %s", line)
		}
	}
	for _, line := range s.lines {
		if _, found := slices.BinarySearch(before, line); !found {
			t.Errorf("new: %s", line)
		}
	}
}

// surface collects the lines of the golden file.
type surface struct {
	*testing.T
	schemas map[string]any
	lines   []string
}

func (s *surface) line(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

func (s *surface) read(file string) map[string]any {
	s.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(content, &document); err != nil {
		s.Fatal(err)
	}
	for name, schema := range at(document, "components", "schemas").(map[string]any) {
		s.schemas["#/components/schemas/"+name] = schema
	}
	return document
}

func (s *surface) operations(file string) {
	document := s.read(file)
	for name, response := range at(document, "components", "responses").(map[string]any) {
		s.line("response %s %s", name, s.text(at(response, "content")))
		s.line("response %s headers %s", name, s.text(at(response, "headers")))
	}
	for path, verbs := range document["paths"].(map[string]any) {
		for verb, operation := range verbs.(map[string]any) {
			s.operation(strings.ToUpper(verb)+" "+path, operation.(map[string]any), document)
		}
	}
}

func (s *surface) operation(name string, operation, document map[string]any) {
	s.line("%s", name)
	s.line("%s permission %v, security %s", name, operation["x-permission"], s.text(operation["security"]))
	parameters, _ := operation["parameters"].([]any)
	for _, p := range parameters {
		if ref, ok := at(p, "$ref").(string); ok {
			p = at(document, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
		}
		s.line("%s %s parameter %s, required %v: %s", name, at(p, "in"), at(p, "name"), at(p, "required") == true,
			s.text(at(p, "schema")))
	}
	if body := at(operation, "requestBody"); body != nil {
		s.line("%s body, required %v", name, at(body, "required"))
		s.content(name+" body", at(body, "content"))
	}
	for status, response := range operation["responses"].(map[string]any) {
		if ref, ok := at(response, "$ref").(string); ok {
			s.line("%s response %s: %s", name, status, strings.TrimPrefix(ref, "#/components/responses/"))
			continue
		}
		s.content(name+" response "+status, at(response, "content"))
	}
}

// content adds the fields of a body. All media types have the same ones.
func (s *surface) content(name string, content any) {
	all, _ := content.(map[string]any) // nil for an answer without a body
	for media, body := range all {
		s.line("%s %s", name, media)
		schema := at(body, "schema")
		if ref, ok := at(schema, "$ref").(string); ok {
			schema = s.schemas[ref] // whatever the message is called
		}
		s.fields(name, schema)
	}
}

// fields adds a line for each field of a schema.
func (s *surface) fields(name string, schema any) {
	if properties, ok := at(schema, "properties").(map[string]any); ok {
		required, _ := at(schema, "required").([]any)
		for field, inner := range properties {
			s.line("%s %s, required %v: %s", name, field, slices.Contains(required, any(field)), s.text(inner))
		}
		plain := maps.Clone(schema.(map[string]any))
		delete(plain, "properties")
		delete(plain, "required")
		schema = plain
	}
	s.line("%s: %s", name, s.text(schema))
}

// text returns a schema in JSON without texts for people, and adds the fields of those to which it refers.
func (s *surface) text(schema any) string {
	var written strings.Builder
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s.plain(schema)); err != nil {
		s.Error(err)
	}
	return strings.TrimSpace(written.String())
}

func (s *surface) plain(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if ref, ok := value["$ref"].(string); ok {
			if schema, first := s.schemas[ref]; first && schema != nil {
				s.schemas[ref] = nil // a message may contain itself
				s.fields("schema "+strings.TrimPrefix(ref, "#/components/schemas/"), schema)
				s.schemas[ref] = schema
			}
		}
		kept := map[string]any{}
		for name, inner := range value {
			if name != "examples" && name != "x-enumDescriptions" && (name != "description" || isObject(inner)) {
				kept[name] = s.plain(inner)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(value))
		for i, inner := range value {
			kept[i] = s.plain(inner)
		}
		return kept
	default:
		return value
	}
}

func isObject(value any) bool {
	_, ok := value.(map[string]any)
	return ok
}

func (s *surface) events(file string) {
	document := s.read(file)
	messages := at(document, "components", "messages").(map[string]any)
	for name, channel := range document["channels"].(map[string]any) {
		message := messages[name]
		s.line("event %s %v %s", name, at(channel, "address"), s.text(at(message, "headers")))
		payload := at(message, "payload", "$ref")
		s.fields("event "+name, s.schemas[fmt.Sprint(payload)])
	}
}

// table adds the first cells of a table in Markdown: of an error all, of a setting its name and default.
func (s *surface) table(kind, file string) {
	content, err := os.ReadFile(file)
	if err != nil {
		s.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		if kind == "setting" {
			cells = cells[:2]
		}
		s.line("%s %s", kind, strings.Trim(strings.Join(cells, " | "), "| "))
	}
}
