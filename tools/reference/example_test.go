package main

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// invalid returns why a value does not match a JSON Schema of a document, or "". It knows the keywords that the
// documents use. Objects have no fields that the schema lacks, except of a part of a schema.
func invalid(document any, schema map[string]any, v any, path string, part bool) string {
	if to, ok := schema["$ref"].(string); ok {
		target, there := resolve(document, to).(map[string]any)
		if !there {
			return path + ": nothing is at " + to
		}
		return invalid(document, target, v, path, part)
	}
	if want, ok := schema["const"]; ok && !reflect.DeepEqual(want, v) {
		return fmt.Sprintf("%s: %v is not %v", path, v, want)
	}
	if all, ok := schema["enum"].([]any); ok && !slices.Contains(all, v) {
		return fmt.Sprintf("%s: %v is none of %v", path, v, all)
	}
	if !typed(schema["type"], v) {
		return fmt.Sprintf("%s: %v is no %v", path, v, schema["type"])
	}
	all, _ := schema["allOf"].([]any)
	for _, one := range all {
		if why := invalid(document, one.(map[string]any), v, path, true); why != "" {
			return why
		}
	}
	if among, ok := schema["oneOf"].([]any); ok {
		matching := 0
		for _, one := range among {
			if invalid(document, one.(map[string]any), v, path, part) == "" {
				matching++
			}
		}
		if matching != 1 {
			return fmt.Sprintf("%s: %d schemas match", path, matching)
		}
	}
	switch v := v.(type) {
	case string:
		return invalidText(schema, v, path)
	case []any:
		return invalidList(document, schema, v, path)
	case map[string]any:
		return invalidObject(document, schema, v, path, part)
	}
	return ""
}

func resolve(document any, ref string) any {
	for name := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
		inner, _ := document.(map[string]any)
		document = inner[name]
	}
	return document
}

func typed(types, v any) bool {
	of := map[string]string{"string": "string", "object": "map[string]interface {}", "array": "[]interface {}",
		"boolean": "bool", "integer": "float64", "number": "float64"}
	switch types := types.(type) {
	case string:
		return of[types] == fmt.Sprintf("%T", v)
	case []any:
		return slices.ContainsFunc(types, func(one any) bool { return typed(one, v) })
	}
	return true
}

func number(schema map[string]any, keyword string, otherwise int) int {
	if n, ok := schema[keyword].(float64); ok {
		return int(n)
	}
	return otherwise
}

func invalidText(schema map[string]any, v, path string) string {
	n := utf8.RuneCountInString(v)
	if n < number(schema, "minLength", 0) || n > number(schema, "maxLength", n) {
		return fmt.Sprintf("%s: %q has %d characters", path, v, n)
	}
	if pattern, ok := schema["pattern"].(string); ok && !regexp.MustCompile(pattern).MatchString(v) {
		return fmt.Sprintf("%s: %q does not match %s", path, v, pattern)
	}
	return ""
}

func invalidList(document any, schema map[string]any, v []any, path string) string {
	if len(v) < number(schema, "minItems", 0) || len(v) > number(schema, "maxItems", len(v)) {
		return fmt.Sprintf("%s: %d elements", path, len(v))
	}
	items, _ := schema["items"].(map[string]any)
	for i, element := range v {
		if why := invalid(document, items, element, fmt.Sprintf("%s[%d]", path, i), false); why != "" {
			return why
		}
	}
	return ""
}

func invalidObject(document any, schema, v map[string]any, path string, part bool) string {
	if len(v) < number(schema, "minProperties", 0) {
		return path + ": too few fields"
	}
	required, _ := schema["required"].([]any)
	for _, name := range required {
		if _, there := v[name.(string)]; !there {
			return fmt.Sprintf("%s: %s is missing", path, name)
		}
	}
	properties, _ := schema["properties"].(map[string]any)
	further, _ := schema["additionalProperties"].(map[string]any)
	for name, inner := range v {
		of, known := properties[name].(map[string]any)
		if !known {
			of = further
		}
		if !known && properties != nil && further == nil && !part {
			return fmt.Sprintf("%s: there is no field %s", path, name)
		}
		if why := invalid(document, of, inner, path+"."+name, false); why != "" {
			return why
		}
	}
	return ""
}

// Every body of the API and every event has an example, and each is what its schema says.
func TestExamplesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	check := func(kind string, document any, body map[string]any, path string) {
		t.Helper()
		schema, _ := body["schema"].(map[string]any)
		example, there := body["example"]
		if !there {
			t.Errorf("%s has no example", path)
			return
		}
		seen[kind]++
		if why := invalid(document, schema, example, "it", false); why != "" {
			t.Errorf("the example of %s: %s", path, why)
		}
	}
	made := documents(t)
	api := made["api"].(map[string]any)
	json := func(body any) map[string]any {
		content, _ := body.(map[string]any)["content"].(map[string]any)
		found, _ := content["application/json"].(map[string]any)
		if form, there := content["application/x-www-form-urlencoded"].(map[string]any); there {
			return form
		}
		return found
	}
	for path, verbs := range api["paths"].(map[string]any) {
		for verb, operation := range verbs.(map[string]any) {
			o := operation.(map[string]any)
			if body, there := o["requestBody"]; there {
				check("request", api, json(body), verb+" "+path)
			}
			content, _ := o["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)
			if content["application/json"] == nil && at(o, "tags 0") == `"OAuth"` {
				continue // a page, or nothing
			}
			check("answer", api, json(o["responses"].(map[string]any)["200"]), "the answer of "+verb+" "+path)
		}
	}
	for name, r := range api["components"].(map[string]any)["responses"].(map[string]any) {
		check("failure", api, json(r), name)
	}
	events := made["events"].(map[string]any)
	for name, m := range events["components"].(map[string]any)["messages"].(map[string]any) {
		message := m.(map[string]any)
		all, _ := message["examples"].([]any)
		if len(all) == 0 {
			t.Errorf("the event %s has no example", name)
			continue
		}
		for _, part := range []string{"payload", "headers"} {
			check(part, events, map[string]any{
				"schema": message[part], "example": all[0].(map[string]any)[part],
			}, part+" of "+name)
		}
	}
	if seen["request"] < 60 || seen["answer"] < 120 || seen["failure"] < 10 || seen["payload"] < 80 {
		t.Errorf("only %v examples were seen", seen)
	}
}
