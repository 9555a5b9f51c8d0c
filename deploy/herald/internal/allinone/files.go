package allinone

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

// secretMode is the mode of files that only their owner may read.
const secretMode = 0o600

// Operator returns the NATS address and login of the operator, from the files in DataDir.
func (c Config) Operator() (bus.Address, error) {
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
