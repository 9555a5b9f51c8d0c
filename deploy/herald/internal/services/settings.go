package services

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"herald/shared/bus"
	"herald/shared/secret"
)

// RunConfig is the settings of `herald run`, without those of the services. Other commands read them too, to find a
// `herald run` on this machine.
type RunConfig struct {
	DataDir     string      `env:"HERALD_DATA_DIR" envDefault:".data"`
	PublicURL   string      `env:"HERALD_PUBLIC_URL"`
	InboxListen string      `env:"HERALD_INBOX_LISTEN" envDefault:"127.0.0.1:8025"`
	NATSListen  string      `env:"HERALD_NATS_LISTEN" envDefault:"127.0.0.1:0"`
	Database    secret.Text `env:"HERALD_DATABASE_URL"`
	NATS        string      `env:"HERALD_NATS_URL"`
	MasterKey   secret.Text `env:"HERALD_MASTER_KEY"`
	MaxBytes    int64       `env:"HERALD_EVENTS_MAX_BYTES" envDefault:"1073741824"`
	Token       secret.Text `env:"HERALD_TOKEN"`
	Key         secret.Text `env:"HERALD_KEY"`
}

// Servers are the servers of a system that does not run. Stop stops those that were started for it.
type Servers struct {
	Database secret.Text
	// NATS has the login of the operator.
	NATS bus.Address
	Stop func() error
}

// Help implements boot.Documented.
func (RunConfig) Help() map[string]string {
	return map[string]string{
		"HERALD_DATA_DIR": "where databases, streams, mails and keys are kept",
		"HERALD_PUBLIC_URL": "the address that browsers and mails use, such as https://id.example.com; empty " +
			"stands for http://localhost and the port of HERALD_LISTEN",
		"HERALD_INBOX_LISTEN": "address of the page that shows the mails",
		"HERALD_NATS_LISTEN":  "address for programs that subscribe to events; port 0 takes any that is free",
		"HERALD_DATABASE_URL": "Postgres server to use instead of a local one; its role needs CREATEDB and " +
			"CREATEROLE",
		"HERALD_NATS_URL": "NATS server to use instead of one in the process",
		"HERALD_MASTER_KEY": "64 hexadecimal digits from which every key is derived, made at the first start; " +
			"further lines are keys that still open what they have sealed: herald keys changes them",
		"HERALD_EVENTS_MAX_BYTES": "size in bytes at which the stream of events drops its oldest, such as " +
			"16777216; at least 1 MiB",
		"HERALD_TOKEN": "the token with which herald call asks; by default that of herald login, or the " +
			"administrator's of the first start",
		"HERALD_KEY": "the key file of a machine user, in JSON, with which herald call logs in instead of " +
			"HERALD_TOKEN",
	}
}

// Operator returns the NATS address and login of the operator, from the files in DataDir.
func (c RunConfig) Operator() (bus.Address, error) {
	file := filepath.Join(c.DataDir, bus.Operator+".url")
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return bus.Address{}, fmt.Errorf("HERALD_NATS_URL is not set, and no `herald run` with a HERALD_NATS_LISTEN "+
			"has been started in HERALD_DATA_DIR: %w", err)
	}
	if err != nil {
		return bus.Address{}, err
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil || u.Host == "" || u.User == nil { // the error would contain the password
		return bus.Address{}, fmt.Errorf("%s is not what `herald run` wrote", file)
	}
	password, _ := u.User.Password()
	return bus.Address{URL: "nats://" + u.Host, User: u.User.Username(), Password: secret.NewText(password)}, nil
}
