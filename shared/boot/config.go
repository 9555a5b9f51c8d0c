// Package boot starts and stops the processes of the system. It has settings, logs, metrics, traces, readiness, and a
// stop in two phases.
package boot

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/caarlos0/env/v11"

	"herald/shared/secret"
)

const prefix = "HERALD_"

// Load reads settings from environment variables into the structs that configs point to. The fields have the tags of
// caarlos0/env, and each struct is Documented. Settings of several services are in structs that these structs embed.
// The variable NAME_FILE may name a file with the secret NAME. A HERALD_ variable without a field is an error,
// because otherwise a mistyped name would silently have no effect.
func Load(environ []string, configs ...any) error {
	values := env.ToMap(environ)
	known, err := Settings(configs...)
	if err != nil {
		return err
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		plain, isFile := strings.CutSuffix(name, "_FILE")
		i := slices.IndexFunc(known, func(s Setting) bool {
			return s.Name == name || isFile && s.Secret && s.Name == plain
		})
		switch {
		case i < 0:
			faults = append(faults, fmt.Errorf("%s is not a setting; `herald settings` lists them", name))
		case known[i].Name == name:
		case values[plain] != "":
			faults = append(faults, fmt.Errorf("%s and %s are both set: keep one", plain, name))
		default:
			text, err := os.ReadFile(values[name])
			if err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
			}
			values[plain] = strings.TrimSpace(string(text))
		}
	}
	for _, c := range configs {
		faults = append(faults, mistakes(c, env.ParseWithOptions(c, env.Options{Environment: values}))...)
	}
	// If several structs share a wrong setting, it is reported once.
	said := map[string]bool{}
	return errors.Join(slices.DeleteFunc(faults, func(err error) bool {
		again := said[err.Error()]
		said[err.Error()] = true
		return again
	})...)
}

// mistakes returns the errors of the library. They name settings instead of Go fields.
func mistakes(config any, err error) []error {
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return nil
	}
	var found []error
	for _, err := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](err)
		field, known := reflect.TypeOf(config).Elem().FieldByName(parse.Name)
		if !ok || !known {
			found = append(found, err)
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
		cause := parse.Err
		if number, ok := errors.AsType[*strconv.NumError](cause); ok {
			cause = fmt.Errorf("%q: %w", number.Num, number.Err) // without the name of Go's function
		}
		found = append(found, fmt.Errorf("%s: %w (%s)", name, cause, help(reflect.TypeOf(config).Elem(), field)))
	}
	return found
}

// Documented is a struct of settings. Help returns the documentation of each setting, by its name. The settings of an
// embedded struct are documented in that struct.
type Documented interface{ Help() map[string]string }

// help returns the documentation of a setting. t is the struct that declares the setting, or one that embeds that
// struct.
func help(t reflect.Type, field reflect.StructField) string {
	for _, i := range field.Index[:len(field.Index)-1] {
		t = t.Field(i).Type
	}
	name, _, _ := strings.Cut(field.Tag.Get("env"), ",")
	if d, ok := reflect.Zero(t).Interface().(Documented); ok {
		return d.Help()[name]
	}
	return ""
}

// Setting is the documentation of an environment variable.
type Setting struct {
	Name    string
	Default string
	Help    string
	Secret  bool // may also be set by NAME_FILE
}

// Settings returns the settings of the structs in order, without repeats.
func Settings(configs ...any) ([]Setting, error) {
	var found []Setting
	for _, c := range configs {
		t := reflect.TypeOf(c).Elem()
		for _, f := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
			if name == "" {
				continue
			}
			if !strings.HasPrefix(name, prefix) || help(t, f) == "" {
				return nil, fmt.Errorf("setting %s.%s needs the prefix %s and a text of Help", t.Name(), f.Name, prefix)
			}
			if !slices.ContainsFunc(found, func(s Setting) bool { return s.Name == name }) {
				found = append(found, Setting{
					name, f.Tag.Get("envDefault"), help(t, f), f.Type == reflect.TypeFor[secret.Text](),
				})
			}
		}
	}
	return found, nil
}
