// Command generate writes the documents below docs. It reads the contracts as buf's image from its
// standard input, and the Go files below the current folder:
//
//	buf build -o - | go run ./deploy/herald/internal/reference/generate docs
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"herald/deploy/herald/internal/command"
	"herald/deploy/herald/internal/reference"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the folder to write to, got %q", args)
	}
	image, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	settings, err := command.Settings()
	if err != nil {
		return err
	}
	documents, err := reference.Documents(image, ".", settings)
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
