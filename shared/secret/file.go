package secret

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ReplaceFile writes a file with that text and mode. The file may hold what must not be lost, such as the master key,
// without which an instance cannot read its databases. When it returns, the file is on the disk. An
// error or a crash leaves the old file as it was.
func ReplaceFile(file, text string, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = RenameFile(f.Name(), file)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // fails if it was renamed already
	}
	return err
}

// RenameFile renames a file within its folder. When it returns, the new name is on the disk.
func RenameFile(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(to))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
