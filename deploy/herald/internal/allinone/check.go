package allinone

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"

	"herald/deploy/herald/internal/services"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// checkPorts returns an error that names every setting with an address on which the process cannot listen. It closes
// the ports again. They are opened when there is something that answers.
func (s *system) checkPorts() error {
	ports := []struct {
		setting, address string
		unused           bool
	}{
		{"HERALD_LISTEN", s.services.Gateway.Listen, false},
		{"HERALD_INBOX_LISTEN", s.InboxListen, !s.services.Notification.SMTP.Empty()},
		{"HERALD_NATS_LISTEN", s.NATSListen, s.NATSListen == "" || s.NATS != ""},
		{"HERALD_OPS_LISTEN", s.OpsListen, s.OpsListen == ""},
	}
	var taken []error
	for _, p := range ports {
		if p.unused {
			continue
		}
		l, err := net.Listen("tcp", p.address)
		if err != nil {
			taken = append(taken, fmt.Errorf("%s: %w", p.setting, err))
			continue
		}
		defer l.Close() // at the end, because two settings may have the same address
	}
	return errors.Join(taken...)
}

const restore = "restore it from a backup, or name the right one with HERALD_MASTER_KEY_FILE, because a new key " +
	"opens nothing of the old data; for a new system, choose another HERALD_DATA_DIR"

// masterKey reads the master key, or makes one at the first start. It returns when the key is on
// the disk, because databases cannot be read without it.
func (s *system) masterKey(ctx context.Context) (secret.Keys, error) {
	if !s.MasterKey.Empty() {
		keys, err := secret.ParseKeys(s.MasterKey.Reveal())
		if err != nil {
			return secret.Keys{}, fmt.Errorf("HERALD_MASTER_KEY: %w", err)
		}
		if !keys.Holds() {
			return secret.Keys{}, errors.New("HERALD_MASTER_KEY holds derived keys only, as gateway.key does: " +
				"set the master key")
		}
		return keys, nil
	}
	file := s.file("master.key")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if err := s.checkNew(ctx); err != nil {
			return secret.Keys{}, fmt.Errorf("%w, and %s is missing: %s", err, file, restore)
		}
		text = []byte(secret.NewKeyText())
		err = secret.ReplaceFile(file, string(text), secretMode)
	}
	if err != nil {
		return secret.Keys{}, fmt.Errorf("master key: %w", err)
	}
	keys, err := secret.ParseKeys(string(text))
	if err != nil {
		return secret.Keys{}, fmt.Errorf("%s cannot be used: %w: %s", file, err, restore)
	}
	return keys, nil
}

// checkNew returns an error if there is data of an earlier start.
func (s *system) checkNew(ctx context.Context) error {
	for _, name := range []string{"postgres/data", "nats", "admin.pat"} {
		if _, err := os.Lstat(s.file(name)); !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is of an earlier start", s.file(name))
		}
	}
	if s.Database.Empty() {
		return nil
	}
	used, err := postgres.Provisioned(ctx, s.Database, services.Names())
	if err != nil {
		return fmt.Errorf("HERALD_DATABASE_URL: %w", err)
	}
	if used {
		return errors.New("the server at HERALD_DATABASE_URL has databases of Herald")
	}
	return nil
}
