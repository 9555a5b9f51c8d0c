package start_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// signingKeys returns the ids of the keys that `herald keys signing` lists, by algorithm and state.
func signingKeys(t *testing.T, i *whole.Instance) map[string]string {
	t.Helper()
	out, complaints, code := i.Herald("", "keys", "signing")
	if code != 0 {
		t.Fatalf("%s, exit code %d", complaints, code)
	}
	ids := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(out), "\n")[1:] {
		columns := strings.Fields(line)
		ids[columns[1]+" "+columns[2]] = columns[0]
	}
	return ids
}

func read(t *testing.T, url string, into any) {
	t.Helper()
	in, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	in.Header.Set("Origin", "https://app.example.com")
	r, err := http.DefaultClient.Do(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK || r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Fatalf("%s: %d %s, %v", url, r.StatusCode, body, err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		t.Fatalf("%s: %s, %v", url, body, err)
	}
}

// A running system publishes its keys. An operator makes the announced key sign, and removes a stolen one.
func TestOperatorChangesSigningKeys(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	read(t, i.URL+"/.well-known/openid-configuration", &document)
	if document.Issuer == "" || document.Keys != document.Issuer+"/oauth/v2/keys" {
		t.Fatalf("discovery says %+v", document)
	}
	// all waits until a key is announced, which the service does in the background.
	all := func() map[string]string {
		deadline := time.Now().Add(time.Minute)
		for {
			ids := signingKeys(t, i)
			if ids["RS256 announced"] != "" {
				return ids
			}
			if time.Now().After(deadline) {
				t.Fatalf("the keys are %v", ids)
			}
		}
	}
	first := all()
	if _, complaints, code := i.Herald("", "keys", "signing", "use", first["RS256 announced"]); code != 0 {
		t.Fatal(complaints)
	}
	next := all()
	if next["RS256 signs"] != first["RS256 announced"] || next["RS256 published"] != first["RS256 signs"] {
		t.Errorf("the keys were %v and are %v", first, next)
	}
	if _, complaints, code := i.Herald("", "keys", "signing", "remove", next["RS256 signs"]); code != 0 {
		t.Fatal(complaints)
	}
	then := all()
	if then["RS256 signs"] != next["RS256 announced"] || then["RS256 published"] != first["RS256 signs"] {
		t.Errorf("the keys were %v and are %v", next, then)
	}
	for command, want := range map[string]string{
		"use " + then["RS256 signs"]: "SIGNING_KEY_NOT_WAITING", "remove nothing": "SIGNING_KEY_NOT_FOUND",
		"use": "accepts 1 arg",
	} {
		_, complaints, code := i.Herald("", append([]string{"keys", "signing"}, strings.Fields(command)...)...)
		if code != 1 || !strings.Contains(complaints, want) {
			t.Errorf("%s: exit code %d, %s", command, code, complaints)
		}
	}
	var set struct {
		Keys []struct {
			ID string `json:"kid"`
		}
	}
	read(t, strings.Replace(document.Keys, document.Issuer, i.URL, 1), &set)
	if len(set.Keys) != 3 || len(then) != 3 {
		t.Errorf("published are %v", set.Keys)
	}
}
