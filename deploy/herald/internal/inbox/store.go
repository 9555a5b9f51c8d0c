package inbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A mail is the file <id>.eml. Its id is a version 7 UUID, which begins with the time, so that names sort by age.
// <id>.repeats has one byte for each repeat. <id>.read exists if the mail was read. A file that ends in .tmp is
// incomplete.
const (
	mailSuffix    = ".eml"
	repeatsSuffix = ".repeats"
	readSuffix    = ".read"
	partialSuffix = ".tmp"
)

func (in *Inbox) path(id string) string { return filepath.Join(in.dir, id+mailSuffix) }

// read reads the mails in the directory into memory.
func (in *Inbox) read() error {
	entries, err := os.ReadDir(in.dir) // sorted by name
	if err != nil {
		return err
	}
	for _, entry := range entries {
		name := entry.Name()
		if strings.HasSuffix(name, partialSuffix) {
			os.Remove(filepath.Join(in.dir, name))
		}
		id, isMail := strings.CutSuffix(name, mailSuffix)
		created, err := createdAt(id)
		if !isMail || err != nil {
			continue
		}
		raw, err := os.ReadFile(in.path(id))
		if err != nil {
			return err
		}
		m := parse(raw).Summary
		m.ID, m.Created = id, created
		if info, err := os.Stat(filepath.Join(in.dir, id+repeatsSuffix)); err == nil {
			m.Repeats = int(info.Size())
		}
		_, unread := os.Stat(filepath.Join(in.dir, id+readSuffix))
		m.Read = unread == nil
		if m.MessageID != "" {
			d := &delivery{settled: make(chan struct{}), id: id}
			close(d.settled)
			in.known[m.MessageID] = d
		}
		in.insert(&m)
	}
	in.prune()
	return nil
}

// createdAt returns the time in an id. It returns an error for other names, whose files are not mails.
func createdAt(id string) (time.Time, error) {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return time.Time{}, errors.Join(err, fs.ErrInvalid)
	}
	return time.Unix(u.Time().UnixTime()), nil
}

// store writes a mail to the disk: its bytes first, then its name. Mails that arrive together are synced at the same
// time, which file systems can do with fewer writes.
func (in *Inbox) store(raw []byte) (id string, created time.Time, err error) {
	u, err := uuid.NewV7()
	if err != nil {
		return "", time.Time{}, fmt.Errorf("store mail: %w", err)
	}
	id = u.String()
	partial := in.path(id) + partialSuffix
	if err := writeSynced(partial, os.O_CREATE|os.O_EXCL|os.O_WRONLY, raw); err != nil {
		os.Remove(partial)
		return "", time.Time{}, fmt.Errorf("store mail: %w", err)
	}
	if err := os.Rename(partial, in.path(id)); err != nil {
		os.Remove(partial)
		return "", time.Time{}, fmt.Errorf("store mail: %w", err)
	}
	if err := in.dirFile.Sync(); err != nil {
		os.Remove(in.path(id))
		return "", time.Time{}, fmt.Errorf("store mail: %w", err)
	}
	return id, time.Unix(u.Time().UnixTime()), nil
}

// countRepeat records that a mail came once more.
func (in *Inbox) countRepeat(id string) error {
	name := filepath.Join(in.dir, id+repeatsSuffix)
	if err := writeSynced(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, []byte{'+'}); err != nil {
		return fmt.Errorf("count repeated mail: %w", err)
	}
	in.update(id, func(m *Summary) { m.Repeats++ })
	in.log.Warn("dropped a mail that came again", "id", id)
	return nil
}

// markRead records that a mail was read. It does not sync: after a crash the mail may be unread again.
func (in *Inbox) markRead(id string) {
	in.update(id, func(m *Summary) {
		m.Read = true
		if err := os.WriteFile(filepath.Join(in.dir, id+readSuffix), nil, 0o600); err != nil {
			in.log.Warn("a mail will be unread again after a restart", "id", id, "err", err)
		}
	})
}

// remove deletes a mail from the disk. It does not sync: after a crash an old mail may be back.
func (in *Inbox) remove(id string) {
	os.Remove(in.path(id))
	os.Remove(filepath.Join(in.dir, id+repeatsSuffix))
	os.Remove(filepath.Join(in.dir, id+readSuffix))
}

// writeSynced writes a file and returns when it is on the disk.
func writeSynced(name string, flag int, text []byte) error {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}
