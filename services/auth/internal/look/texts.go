package look

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
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
