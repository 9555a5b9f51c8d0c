// Package provision prepares what the containers of a compose project stand on: the
// secrets that they share, the users of NATS with their permissions, and the folders
// of containers that are nobody special. It runs at every start, so that an upgrade
// finds what it needs beside what is kept. Everything but the master key and the
// password of Postgres's superuser is derived.
package provision

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"herald/shared/bus"
	"herald/shared/durable"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// Files are what Write makes, below its directory, by who reads them: services,
// NATS and Postgres each mount their own folder only.
const (
	masterKey = "keys/master.key"
	natsUsers = "nats/users.conf"
	adminPass = "postgres/password"
	adminURL  = "postgres/admin.url"
)

// user is whom containers run as, but for Postgres; Dockerfile and docker-compose.yml
// say the same.
const user = 65532

// folders are written by that user: the first token, streams, mails.
var folders = []string{"first-start", "streams", "mails"}

// Write makes what is missing, and the users of NATS anew when contracts or keys have
// changed. The folders are volumes of their own: whoever can read one may read all in
// it, so that containers need no common user.
func Write(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key, err := keep(filepath.Join(dir, masterKey), secret.NewKeyText())
	if err != nil {
		return err
	}
	keys, err := secret.ParseKeys(key)
	if err != nil {
		return fmt.Errorf("%s: %w", masterKey, err)
	}
	password, err := keep(filepath.Join(dir, adminPass), randomPassword()+"\n")
	if err != nil {
		return err
	}
	users, err := natsConfig(keys)
	if err != nil {
		return err
	}
	return errors.Join(
		refresh(filepath.Join(dir, adminURL), superuser(strings.TrimSpace(password))),
		refresh(filepath.Join(dir, natsUsers), users),
		giveFolders(dir),
	)
}

// Databases gives every service its role and database, also those that a new version
// has brought. admin is a superuser, or may create databases and roles.
func Databases(ctx context.Context, admin secret.Text, keys secret.Keys, services []string) error {
	errs := make([]error, len(services))
	var all sync.WaitGroup
	for i, s := range services {
		all.Go(func() { _, errs[i] = postgres.Provision(ctx, admin, keys, s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func randomPassword() string {
	var random [16]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}

// superuser is where docker-compose.yml has its Postgres.
func superuser(password string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: "postgres:5432",
		Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String() + "\n"
}

// giveFolders makes folders for the containers' user. A developer's own run, without
// root's rights, is that user itself.
func giveFolders(dir string) error {
	for _, name := range folders {
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
		if os.Geteuid() != 0 {
			continue
		}
		if err := os.Chown(folder, user, user); err != nil {
			return err
		}
	}
	return nil
}

// keep writes a file unless it is there, and returns what it holds.
func keep(file, text string) (string, error) {
	held, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return text, replace(file, text)
	}
	return string(held), err
}

// refresh writes a file unless it holds that text.
func refresh(file, text string) error {
	held, err := os.ReadFile(file)
	if err == nil && string(held) == text {
		return nil
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return replace(file, text)
}

// replace writes a file that every container reads whose volume holds it.
func replace(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return durable.Replace(file, text, 0o444)
}

// natsConfig is the authorization block of nats-server's configuration.
func natsConfig(keys secret.Keys) (string, error) {
	users, err := bus.Users()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("users = [\n")
	for _, u := range users {
		fmt.Fprintf(&b, "  {user: %q, password: %q, permissions: {\n", u.Name, bus.Password(keys, u.Name).Reveal())
		if len(u.Publish) == 0 {
			b.WriteString("    publish: {deny: \">\"}\n")
		} else {
			fmt.Fprintf(&b, "    publish: {allow: [%s]}\n", quoted(u.Publish))
		}
		fmt.Fprintf(&b, "    subscribe: {allow: [%s]}\n", quoted(u.Subscribe))
		if u.Answers {
			b.WriteString("    allow_responses: {max: 1, expires: \"1m\"}\n")
		}
		b.WriteString("  }}\n")
	}
	b.WriteString("]\n")
	return b.String(), nil
}

func quoted(subjects []string) string {
	all := make([]string, len(subjects))
	for i, s := range subjects {
		all[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(all, ", ")
}
