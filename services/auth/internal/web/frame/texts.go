package frame

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

// catalogFiles holds a file per language, named by its tag, with the texts by key; the texts of the account's pages are
// in a folder of their own.
//
//go:embed texts/*.json texts/account/*.json
var catalogFiles embed.FS

// texts are the texts of one language by key. The key "direction" is ltr or rtl.
type texts map[string]string

func readTexts() (map[string]texts, error) {
	found := map[string]texts{}
	for _, folder := range []string{"texts", "texts/account"} {
		entries, err := catalogFiles.ReadDir(folder)
		if err != nil {
			return nil, fmt.Errorf("texts of pages: %w", err)
		}
		for _, e := range entries {
			tag, isFile := strings.CutSuffix(e.Name(), ".json")
			if !isFile {
				continue
			}
			if found[tag] == nil {
				found[tag] = texts{}
			}
			if err := found[tag].add(folder + "/" + e.Name()); err != nil {
				return nil, fmt.Errorf("texts of pages %s: %w", e.Name(), err)
			}
		}
	}
	return found, nil
}

// add adds the texts of a file.
func (t texts) add(name string) error {
	data, err := catalogFiles.ReadFile(name)
	if err != nil {
		return err
	}
	var further texts
	if err := json.Unmarshal(data, &further); err != nil {
		return err
	}
	for key, text := range further {
		if _, there := t[key]; there {
			return fmt.Errorf("%s stands in two files", key)
		}
		t[key] = text
	}
	return nil
}
