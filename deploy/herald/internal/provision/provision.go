// Package provision writes, once, the secrets that the containers of a compose
// project share: the master key, the users of NATS with their permissions, and the
// roles and databases of Postgres. Everything but the master key is derived from it.
package provision

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"herald/shared/bus"
	"herald/shared/postgres"
	"herald/shared/secret"
)

// Files are what Write makes, below its directory, by who reads them: services,
// NATS and Postgres each mount their own folder only.
const (
	masterKey  = "keys/master.key"
	natsUsers  = "nats/users.conf"
	subscriber = "keys/subscriber.password"
	adminPass  = "postgres/password"
	roles      = "postgres/10-roles.sql"
	firstStart = "first-start"
)

// user is whom the containers of services run as; Dockerfile says the same.
const user = 65532

// Write makes what is missing. The folders are volumes of their own: whoever can
// read one may read all in it, so that containers need no common user.
func Write(dir string, services []string) error {
	key, err := keep(filepath.Join(dir, masterKey), secret.NewKeyText())
	if err != nil {
		return err
	}
	keys, err := secret.ParseKeys(key)
	if err != nil {
		return fmt.Errorf("%s: %w", masterKey, err)
	}
	users, err := natsConfig(keys)
	if err != nil {
		return err
	}
	var random [16]byte
	rand.Read(random[:])
	for file, text := range map[string]string{
		natsUsers:  users,
		subscriber: bus.Password(keys, bus.Subscriber).Reveal() + "\n",
		adminPass:  hex.EncodeToString(random[:]) + "\n",
		roles:      roleSQL(keys, services),
	} {
		if _, err := keep(filepath.Join(dir, file), text); err != nil {
			return err
		}
	}
	// The users service writes the first token here.
	if err := os.MkdirAll(filepath.Join(dir, firstStart), 0o700); err != nil {
		return err
	}
	return os.Chown(filepath.Join(dir, firstStart), user, user)
}

// keep writes a file unless it is there, and answers with what it holds.
func keep(file, text string) (string, error) {
	held, err := os.ReadFile(file)
	if err == nil {
		return string(held), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	// Renamed when it is whole: a container that was killed leaves no half secret.
	if err := os.WriteFile(file+".new", []byte(text), 0o444); err != nil {
		return "", err
	}
	return text, os.Rename(file+".new", file)
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

// roleSQL runs when Postgres makes its data directory. Names and passwords are ours
// and need no quoting.
func roleSQL(keys secret.Keys, services []string) string {
	var b strings.Builder
	for _, s := range services {
		name := postgres.Name(s)
		fmt.Fprintf(&b, "create role %[1]s login password '%[2]s';\ncreate database %[1]s owner %[1]s template template0 encoding 'UTF8';\nrevoke connect, temporary on database %[1]s from public;\n",
			name, postgres.Password(keys, s).Reveal())
	}
	return b.String()
}
