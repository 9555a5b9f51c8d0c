package main

import "strings"

// Setting is what the documents say about an environment variable.
type Setting struct {
	Name, Default, Help string
	// Secret says that NAME_FILE may name a file with the value.
	Secret bool
}

// Settings reads the output of `herald settings`: the name of a setting, then indented lines about it.
func Settings(printed string) []Setting {
	var all []Setting
	for line := range strings.Lines(printed) {
		line = strings.TrimSuffix(line, "\n")
		about, indented := strings.CutPrefix(line, "    ")
		if !indented {
			all = append(all, Setting{Name: line})
			continue
		}
		last := &all[len(all)-1]
		if value, ok := strings.CutPrefix(about, "default: "); ok {
			last.Default = value
		} else if strings.HasPrefix(about, "or "+last.Name+"_FILE: ") {
			last.Secret = true
		} else {
			last.Help = about
		}
	}
	return all
}
