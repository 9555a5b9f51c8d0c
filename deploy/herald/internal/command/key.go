package command

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"herald/shared/bus"
	"herald/shared/secret"
)

// The ends of errors about keys. They never advise the operator to make a new key, because a new key could not decrypt
// the old data.
const (
	restoreKey  = "restore it from a backup: a new key opens nothing of the old data"
	writeKey    = "`herald secrets` writes gateway.key again, from the master key beside it"
	needsMaster = "holds derived keys only, as gateway.key does, which is for `herald gateway`; name the file of the " +
		"master key with HERALD_MASTER_KEY_FILE"
)

// masterKeys parses the setting of a process or command that needs the master key.
func masterKeys(setting secret.Text) (secret.Keys, error) {
	keys, err := parseKeys(setting, restoreKey)
	if err == nil && !keys.Holds() {
		return secret.Keys{}, fmt.Errorf("%s %s", keySource(), needsMaster)
	}
	return keys, err
}

// gatewayKeys parses the setting of the gateway, which needs no master key.
func gatewayKeys(setting secret.Text) (secret.Keys, error) {
	keys, err := parseKeys(setting, writeKey)
	if err == nil && !keys.Holds(forGateway()...) {
		return secret.Keys{}, fmt.Errorf("%s lacks a key of the gateway; %s", keySource(), writeKey)
	}
	return keys, err
}

func parseKeys(setting secret.Text, advice string) (secret.Keys, error) {
	if setting.Empty() && os.Getenv(keyFile) == "" {
		return secret.Keys{}, errors.New("HERALD_MASTER_KEY_FILE is not set: it names the file of the key with which " +
			"the system was set up; `herald secrets DIR` makes the key of a new system")
	}
	keys, err := secret.ParseKeys(setting.Reveal())
	if err != nil {
		return secret.Keys{}, fmt.Errorf("%s: %w; %s", keySource(), err, advice)
	}
	return keys, nil
}

const keyFile = "HERALD_MASTER_KEY_FILE"

// keySource is where the keys are read from.
func keySource() string { return cmp.Or(os.Getenv(keyFile), "HERALD_MASTER_KEY") }

// ownKeys parses the setting of a process. The gateway does not have the master key, but only keys that are derived
// from it.
func ownKeys(setting secret.Text, process string) (secret.Keys, error) {
	if process == bus.Gateway {
		return gatewayKeys(setting)
	}
	return masterKeys(setting)
}
