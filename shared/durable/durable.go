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
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = Rename(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may have its new name already
	}
	return err
}

// Rename gives a file that is on the disk another name in the same folder, which is on
// the disk too when Rename returns.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
