package look

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// catalogFiles holds a file per language, named by its tag, with the texts by key.
//
//go:embed texts/*.json
var catalogFiles embed.FS

// texts are the texts of one language by key. The key "direction" is ltr or rtl.
type texts map[string]string

func readTexts() (map[string]texts, error) {
	entries, err := catalogFiles.ReadDir("texts")
	if err != nil {
		return nil, fmt.Errorf("texts of pages: %w", err)
	}
	found := map[string]texts{}
	for _, e := range entries {
		data, err := catalogFiles.ReadFile("texts/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("texts of pages: %w", err)
		}
		var t texts
		if err := json.Unmarshal(data, &t); err != nil {
			return nil, fmt.Errorf("texts of pages %s: %w", e.Name(), err)
		}
		tag, _ := strings.CutSuffix(e.Name(), ".json")
		found[tag] = t
	}
	return found, nil
}

// matcher chooses among the languages of the texts, whose tags it answers with. The
// default language is the first, on which a matcher falls back.
func matcher(catalogs map[string]texts, defaultLanguage string) (language.Matcher, []string, error) {
	tags := slices.Sorted(maps.Keys(catalogs))
	_, first, confidence := language.NewMatcher(parse(tags)).Match(language.Make(defaultLanguage))
	if confidence == language.No {
		return nil, nil, fmt.Errorf("there are no pages in the default language %q, only in %s", defaultLanguage, strings.Join(tags, ", "))
	}
	tags[0], tags[first] = tags[first], tags[0]
	return language.NewMatcher(parse(tags)), tags, nil
}

func parse(tags []string) (parsed []language.Tag) {
	for _, tag := range tags {
		parsed = append(parsed, language.Make(tag))
	}
	return parsed
}
