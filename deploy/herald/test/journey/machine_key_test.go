package journey_test

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"herald/deploy/herald/test/whole"
)

// A machine user's private key and secret are in the answer and nowhere else: not in a file
// of the databases and streams, and not in the logs.
func TestMachineCredentialsAreNotKept(t *testing.T) {
	t.Parallel()
	i := whole.Start(t, "HERALD_LOG_LEVEL=debug")
	conn, err := nats.Connect(i.Subscriber())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	events, err := conn.SubscribeSync("events.users.>")
	if err != nil {
		t.Fatal(err)
	}
	status, machine := i.Call("POST", "/management/v1/users/machine", `{"userName":"ci","name":"CI"}`)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, machine)
	}
	user := "/management/v1/users/" + machine["userId"].(string)
	status, made := i.Call("POST", user+"/keys", `{"type":"KEY_TYPE_JSON"}`)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, made)
	}
	status, set := i.Call("PUT", user+"/secret", `{}`)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, set)
	}
	planted, public := canaries(t, made["keyDetails"].(string))
	planted["secret"] = []byte(set["clientSecret"].(string))
	for seen := false; !seen; { // what is stopped before may keep its events for the next start
		m, err := events.NextMsg(time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		seen = bytes.Contains(m.Data, []byte(machine["userId"].(string)))
	}
	if err := i.Stop(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	// What must be found, or the test looks in the wrong places.
	known := map[string][]byte{
		"/postgres/data/base/": public, "/postgres/data/pg_wal/": public, "/nats/jetstream/$G/streams/EVENTS/": []byte(
			machine["userId"].(string)), "log": []byte(`PUT /management/v1/users/{user_id}/secret`),
	}
	look := func(place string, content []byte) {
		for name, text := range planted {
			if bytes.Contains(content, text) {
				t.Errorf("%s: the %s is in it", place, name)
			}
		}
		for part, text := range known {
			if strings.Contains(place, part) && bytes.Contains(content, text) {
				delete(known, part)
			}
		}
	}
	look("log", i.Logs.Bytes())
	err = filepath.WalkDir(i.Dir+"/data", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		look(strings.TrimPrefix(path, i.Dir), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for part := range known {
		t.Errorf("%s: what must be there is not", part)
	}
}

// canaries are the forms in which the private key of a key file could be kept, and its public
// modulus, which is.
func canaries(t *testing.T, details string) (private map[string][]byte, public []byte) {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(details)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Key string }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(file.Key))
	if block == nil {
		t.Fatal("there is no key in the file")
	}
	key, err := x509.ParsePKCS1PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(file.Key, "\n")
	middle := len(details) / 2
	return map[string][]byte{
		"key file": []byte(details[middle : middle+60]), "PEM": []byte(lines[len(lines)/2]),
		"exponent": key.D.Bytes(), "first prime": key.Primes[0].Bytes(), "second prime": key.Primes[1].Bytes(),
	}, key.N.Bytes()
}
