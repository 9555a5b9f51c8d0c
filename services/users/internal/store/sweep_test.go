package store_test

import (
	"context"
	"testing"
	"time"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	testkit.Swept(t, w.db, map[string]string{
		"users":                  "a request for a mail takes the place of the one before",
		"codes":                  "a user has one of each kind, and it goes with the user",
		"machine_keys":           "expired ones are readable until they are removed",
		"personal_access_tokens": "expired ones are readable until they are removed",
		"otp_factors":            "a wrong code takes the place of the one before",
		"expiration_notices":     "there is one for a person and an organization, and it goes with either",
		"strangers":              "there are never more than 4,194,304",
	}, func(ctx context.Context) error { return w.Sweep(ctx, time.Now(), keep) })
}
