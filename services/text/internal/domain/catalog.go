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

	"herald/shared/gen/fault/textfault"
	"herald/shared/mail"
)

// files holds a file per language, named by its tag, with the texts by kind.
//
//go:embed texts/*.json
var files embed.FS

// Catalog is the default texts by language. The languages in it are the supported ones. It never
// changes.
type Catalog struct {
	texts map[string]map[string]Texts // by language, then kind
	// setting is the default language of an instance that has chosen none.
	setting string
}

// NewCatalog reads the default texts. It fails if the default language has none.
func NewCatalog(setting string) (Catalog, error) {
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
	if c.setting, err = c.Supported(setting); err != nil || c.setting == "" {
		return Catalog{}, fmt.Errorf("there are no texts in the default language %q, only in %s", setting, c.list())
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
	for _, kind := range mail.Kinds() {
		if _, ok := texts[string(kind)]; !ok {
			return nil, fmt.Errorf("default texts %s: there are none for %s", name, kind)
		}
	}
	for name := range texts {
		if _, err := mail.ParseKind(name); err != nil {
			return nil, fmt.Errorf("default texts %s: %w", name, err)
		}
	}
	return texts, nil
}

// Languages returns the sorted tags of the supported languages.
func (c Catalog) Languages() []string { return slices.Sorted(maps.Keys(c.texts)) }

func (c Catalog) list() string { return strings.Join(c.Languages(), ", ") }

// Supported returns the supported language for a tag: the tag itself or the nearest more general
// one, or "" if there is none. It returns ErrLanguageInvalid for a text that is not a tag.
func (c Catalog) Supported(asked string) (string, error) { return lookup(asked, c.Languages()) }

// Listed returns the supported language with exactly this tag, in any case and with "_" for "-".
// For others it returns ErrLanguageNotSupported, which names the supported ones.
func (c Catalog) Listed(tag string) (string, error) {
	language, ok := c.listed(tag)
	if !ok {
		return "", textfault.ErrLanguageNotSupported.Say("language: %s", c.mustBeListed()).On("language",
			c.mustBeListed())
	}
	return language, nil
}

func (c Catalog) listed(tag string) (language string, ok bool) {
	for known := range c.texts {
		// The lengths differ if a letter outside ASCII folds to an ASCII letter.
		if len(known) == len(tag) && strings.EqualFold(known, strings.ReplaceAll(tag, "_", "-")) {
			return known, true
		}
	}
	return "", false
}

func (c Catalog) mustBeListed() string { return "must be one of " + c.list() }

// lookup finds a tag among others by RFC 4647 section 3.4: it drops the last subtag until one is
// equal. It ignores case and accepts "_" for "-".
func lookup(asked string, among []string) (string, error) {
	parsed, err := language.Parse(asked)
	if _, unknown := errors.AsType[language.ValueError](err); err != nil && !unknown {
		return "", textfault.ErrLanguageInvalid
	}
	tag := parsed.String()
	for tag != "" && !slices.Contains(among, tag) {
		tag = tag[:max(strings.LastIndexByte(tag, '-'), 0)]
	}
	return tag, nil
}

// Default returns the default texts of a message in a supported language, or ErrMessageKindNotFound.
func (c Catalog) Default(kind, language string) (Texts, error) {
	t, ok := c.texts[language][kind]
	if !ok {
		return Texts{}, textfault.ErrMessageKindNotFound
	}
	return t, nil
}
