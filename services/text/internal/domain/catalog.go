package domain

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"

	"herald/shared/fault"
)

// ErrLanguage answers for what is no language tag (BCP 47).
var ErrLanguage = fault.New(fault.Invalid, "LANGUAGE_INVALID", "The language is not a BCP 47 tag").
	On("language", "must be a BCP 47 tag such as en or de-CH")

// files holds a file per language, named by its tag, with the texts by kind.
//
//go:embed texts/*.json
var files embed.FS

// Catalog is the default texts of every language. It never changes after its making.
type Catalog struct {
	texts    map[string]map[string]Texts // by language, then kind
	fallback string
}

// NewCatalog reads the default texts. It fails for an instance's default language that
// has none.
func NewCatalog(defaultLanguage string) (Catalog, error) {
	entries, err := files.ReadDir("texts")
	if err != nil {
		return Catalog{}, fmt.Errorf("default texts: %w", err)
	}
	c := Catalog{texts: map[string]map[string]Texts{}}
	for _, e := range entries {
		tag, _ := strings.CutSuffix(e.Name(), ".json")
		if c.texts[tag], err = read("texts/" + e.Name()); err != nil {
			return Catalog{}, err
		}
	}
	if c.fallback, err = c.supported(defaultLanguage); err != nil || c.fallback == "" {
		return Catalog{}, fmt.Errorf("there are no texts in the default language %q, only in %s", defaultLanguage, strings.Join(c.Languages(), ", "))
	}
	return c, nil
}

func read(name string) (texts map[string]Texts, err error) {
	data, err := files.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("default texts: %w", err)
	}
	strict := json.NewDecoder(bytes.NewReader(data))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&texts); err != nil {
		return nil, fmt.Errorf("default texts %s: %w", name, err)
	}
	return texts, nil
}

// Languages lists the tags that default texts exist for, sorted.
func (c Catalog) Languages() []string { return slices.Sorted(maps.Keys(c.texts)) }

// Language is the supported language for the one that was asked for, or the instance's
// default language. What is no tag gives the default language with ErrLanguage.
func (c Catalog) Language(asked string) (string, error) {
	tag, err := c.supported(asked)
	if tag == "" {
		tag = c.fallback
	}
	return tag, err
}

// supported looks a tag up as RFC 4647 section 3.4 does: from its end, subtag after
// subtag is dropped until texts exist. Case does not count, and "_" passes for "-".
func (c Catalog) supported(asked string) (string, error) {
	parsed, err := language.Parse(asked)
	if _, unknown := errors.AsType[language.ValueError](err); err != nil && !unknown {
		return "", ErrLanguage
	}
	tag := parsed.String()
	for tag != "" && c.texts[tag] == nil {
		tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)]
	}
	return tag, nil
}

// Default answers with the default texts of a message in a supported language, or ErrKind.
func (c Catalog) Default(kind, language string) (Texts, error) {
	t, ok := c.texts[language][kind]
	if !ok {
		return Texts{}, ErrKind
	}
	return t, nil
}
