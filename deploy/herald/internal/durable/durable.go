// Package durable writes the small files that an instance cannot do without, such as the
// master key without which its databases cannot be read.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Replace puts a text into a file of that mode: whole or not at all, and on the disk.
func Replace(file, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
