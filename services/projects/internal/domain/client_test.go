package domain

import (
	"testing"
	"time"
)

// now is the time of these tests.
var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// overlapping returns a client secret b, before which there was a. The secret a works for one more minute.
func overlapping() ClientSecret {
	until := now.Add(time.Minute)
	return ClientSecret{SecretHash: []byte("b"), FormerSecretHash: []byte("a"), FormerSecretUntil: &until}
}

// The hash of the secret matches, and so does that of the former secret until the end of the overlap. The credential of
// each is valid for as long, and differs from the other's.
func TestSecretMatchesUntilItEnds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret ClientSecret
		hash   string
		after  time.Duration
		want   bool
	}{
		"the secret":                {overlapping(), "b", 0, true},
		"the secret later":          {overlapping(), "b", time.Hour, true},
		"the one before":            {overlapping(), "a", time.Minute - 1, true},
		"the one before at the end": {overlapping(), "a", time.Minute, false},
		"another":                   {overlapping(), "c", 0, false},
		"none":                      {overlapping(), "", 0, false},
		"none of none":              {ClientSecret{}, "", 0, false},
		"one of none":               {ClientSecret{}, "a", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := Client{Application: Application{ClientSecret: c.secret}}
			at := now.Add(c.after)
			if client.Matches([]byte(c.hash), at) != c.want {
				t.Errorf("matches: not %v", c.want)
			}
			credential := client.Credential(Proof{SecretHash: []byte(c.hash)}, at)
			if (credential != "") != c.want || c.want && credential != credentialOf([]byte(c.hash)) {
				t.Errorf("credential %q", credential)
			}
			if held := client.Credential(Proof{Credential: credentialOf([]byte(c.hash))}, at); held != credential {
				t.Errorf("held credential %q, want %q", held, credential)
			}
		})
	}
}

func TestCredentialOfAKeyNamesTheKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proof          Proof
		requested, key string
		want           string
	}{
		"a key":                {Proof{KeyID: "k"}, "k", "k", "key:k"},
		"a removed key":        {Proof{KeyID: "k"}, "k", "", ""},
		"held":                 {Proof{Credential: "key:k"}, "k", "k", "key:k"},
		"held but removed":     {Proof{Credential: "key:k"}, "k", "", ""},
		"a secret":             {Proof{SecretHash: []byte("b")}, "", "", credentialOf([]byte("b"))},
		"a secret's":           {Proof{Credential: credentialOf([]byte("b"))}, "", "", credentialOf([]byte("b"))},
		"another secret's":     {Proof{Credential: credentialOf([]byte("c"))}, "", "", ""},
		"nothing":              {Proof{}, "", "", ""},
		"no credential at all": {Proof{Credential: "k"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			client := Client{Application: Application{ClientSecret: overlapping()}, KeyID: c.key}
			if requested := c.proof.RequestedKey(); requested != c.requested {
				t.Errorf("requests the key %q", requested)
			}
			if got := client.Credential(c.proof, now); got != c.want {
				t.Errorf("credential %q, want %q", got, c.want)
			}
		})
	}
}
