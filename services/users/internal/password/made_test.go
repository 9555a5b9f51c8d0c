package password

import (
	"crypto/rand"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
)

// ofNode prints a hash in each format for which Node.js has the derivation, with the parameters of passlib, OWASP
// and node itself for scrypt. Its argument is the password.
const ofNode = `
const { pbkdf2Sync, scryptSync, createHash, randomBytes } = require('node:crypto');
const password = process.argv[1], made = [];
const base64 = bytes => bytes.toString('base64');
const adapted = bytes => base64(bytes).replaceAll('+', '.').replaceAll('=', '');
for (const [digest, size] of [['sha1', 20], ['sha224', 28], ['sha256', 32], ['sha384', 48], ['sha512', 64]]) {
  const salt = randomBytes(16), rounds = 1 + randomBytes(1)[0];
  const key = pbkdf2Sync(password, salt, rounds, size, digest);
  for (const write of [base64, adapted]) made.push(['$pbkdf2-' + digest, rounds, write(salt), write(key)].join('$'));
}
const salt = randomBytes(16), key = pbkdf2Sync(password, salt, 1000, 20, 'sha1');
made.push(['$pbkdf2', 1000, adapted(salt), adapted(key)].join('$'));
for (const [ln, r, p] of [[4, 8, 1], [14, 8, 5], [14, 8, 1], [2, 1, 80], [2, 80, 1]]) {
  const salt = randomBytes(16), key = scryptSync(password, salt, 32, { N: 1 << ln, r, p, maxmem: 1 << 28 });
  made.push(['$scrypt', 'ln=' + ln + ',r=' + r + ',p=' + p, adapted(salt), adapted(key)].join('$'));
}
const salted = randomBytes(8);
made.push('{SSHA}' + base64(Buffer.concat([createHash('sha1').update(password).update(salted).digest(), salted])));
console.log(JSON.stringify(made));
`

func said(t *testing.T, input, name string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), name, args...)
	c.Stdin = strings.NewReader(input)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", name, err, out)
	}
	return strings.TrimSpace(string(out))
}

// Node.js and OpenSSL hash passwords that are made up here, so no list of vectors can be fitted to the code.
func TestVerifyHashesMadeElsewhere(t *testing.T) {
	t.Parallel()
	h := NewHasher(1, 0)
	for _, typed := range []string{rand.Text(), composed + rand.Text(), rand.Text() + " " + rand.Text()} {
		var made []string
		if err := json.Unmarshal([]byte(said(t, "", "node", "-e", ofNode, typed)), &made); err != nil {
			t.Fatal(err)
		}
		for _, scheme := range []string{"-1", "-5", "-6"} {
			made = append(made, said(t, typed+"\n", "openssl", "passwd", scheme, "-stdin"))
		}
		if len(made) != 20 {
			t.Fatalf("%d hashes", len(made))
		}
		for _, encoded := range made {
			hash := parse(t, encoded)
			for password, want := range map[string]bool{typed: true, typed + "x": false, typed[1:]: false, "": false} {
				if ok, _, err := h.Verify(t.Context(), hash, password); ok != want || err != nil {
					t.Errorf("%s with %q: %v, %v", encoded, password, ok, err)
				}
			}
		}
	}
}

// Every accepted format has a hash of another maker; TestVerifyVectors tries wrong passwords, too.
func TestEveryFormatHasAVector(t *testing.T) {
	t.Parallel()
	for _, f := range formats {
		n := 0
		for _, v := range vectors {
			if strings.HasPrefix(v.encoded, f.prefix) {
				n++
			}
		}
		if n == 0 {
			t.Errorf("no vector begins with %s", f.prefix)
		}
	}
}
