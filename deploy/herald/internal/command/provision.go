package command

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
	"herald/shared/caller"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// The files that WriteSecrets makes, below its directory. Services, NATS and Postgres each mount only
// their own folder.
const (
	masterKey = "keys/master.key"
	// gatewayKey has only the keys that the gateway needs. The master key is not in it, because an attacker reaches the
	// gateway first.
	gatewayKey = "gateway/gateway.key"
	natsUsers  = "nats/users.conf"
	adminPass  = "postgres/password"
	adminURL   = "postgres/admin.url"
)

// user is the user id of all containers but Postgres, as in Dockerfile and docker-compose.yml.
const user = 65532

// folders are those that user must be able to write: for the first token, streams and mails.
var folders = []string{"first-start", "streams", "mails"}

// WriteSecrets prepares what the containers of a compose project share: secrets, the NATS users with their permissions,
// and folders that containers without root's rights can write. It runs at every start, so that it adds what an upgrade
// needs. Everything but the master key and the password of Postgres's superuser is derived.
//
// It makes missing files, and writes the NATS users again when contracts or keys have changed.
// Each folder is a volume, and its files are readable by every user of the containers that mount
// it, so that these need no common user.
func WriteSecrets(dir string) error {
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
		refresh(filepath.Join(dir, gatewayKey), keys.For(forGateway()...).Reveal()),
		giveFolders(dir),
	)
}

// forGateway returns what the gateway's keys are for.
func forGateway() []string { return []string{caller.Purpose, bus.Purpose(bus.Gateway)} }

// makeDatabases makes the missing roles and databases of services. admin is a superuser or may
// create databases and roles.
func makeDatabases(ctx context.Context, admin secret.Text, keys secret.Keys, services []string) error {
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

// superuser returns the URL of the Postgres in docker-compose.yml.
func superuser(password string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", password), Host: "postgres:5432",
		Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String() + "\n"
}

// giveFolders makes the folders and gives them to the containers' user. Without root's rights, as
// in a developer's own run, they stay with the current user.
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

// keep writes a file unless it exists, and returns its text.
func keep(file, text string) (string, error) {
	held, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return text, replace(file, text)
	}
	return string(held), err
}

// refresh writes a file unless it has that text already.
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

// replace writes a file that all containers with its volume may read.
func replace(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return secret.ReplaceFile(file, text, 0o444)
}

// natsConfig returns the authorization block of nats-server's configuration.
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
