// Command reference writes the documents below docs: the pages and the files that describe the contracts, the faults
// and the settings. It runs in the repository's folder:
//
//	reference DOCS IMAGE SETTINGS
//
// DOCS is the folder to write to, IMAGE the contracts as `buf build` writes them, and SETTINGS the output of
// `herald settings`.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want DOCS IMAGE SETTINGS, got %q", args)
	}
	image, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	settings, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	documents, err := Documents(image, ".", Settings(string(settings)))
	if err != nil {
		return err
	}
	for name, text := range documents {
		file := filepath.Join(args[0], name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
