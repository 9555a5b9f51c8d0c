package backup

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"herald/shared/secret"
)

// The order of rows and how they are divided do not count; each row and how often it is there does.
func TestSumIsOfRowsInAnyOrder(t *testing.T) {
	t.Parallel()
	var whole Sum
	whole.add([]byte("a\tb\nc\td\n\n"))
	var parts Sum
	for _, text := range []string{"\n", "c\td\n", "a\tb"} { // the last row may lack its end
		var one Sum
		one.add([]byte(text))
		parts.plus(one)
	}
	if parts != whole || whole.Rows != 3 {
		t.Errorf("%+v, not %+v", parts, whole)
	}
	for _, other := range []string{"a\tb\nc\td\n", "a\tb\nc\tD\n\n", "a\tb\nc\td\n\n\n", "a\nb\tc\td\n\n"} {
		var sum Sum
		if sum.add([]byte(other)); sum == whole {
			t.Errorf("%q has the sum of other rows", other)
		}
	}
	text, err := whole.Digest.MarshalText()
	var read Digest
	if err != nil || read.UnmarshalText(text) != nil || read != whole.Digest {
		t.Errorf("%s is read as %+v", text, read)
	}
	for _, bad := range []string{"", "0", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("x", 32)} {
		if read.UnmarshalText([]byte(bad)) == nil {
			t.Errorf("%q is a digest", bad)
		}
	}
}

func TestPassphraseOpensWhatItWrapped(t *testing.T) {
	t.Parallel()
	keys, err := secret.ParseKeys(secret.NewKeyText() + secret.NewKeyText())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Wrap(keys, secret.NewText("elevenchars")); err == nil {
		t.Error("a short passphrase is taken")
	}
	w, err := Wrap(keys, secret.NewText("correct horse battery"))
	if err != nil {
		t.Fatal(err)
	}
	opened, err := w.Open(secret.NewText("correct horse battery"))
	if err != nil || opened.Text().Reveal() != keys.Text().Reveal() {
		t.Errorf("%v: other keys come out", err)
	}
	if _, err := w.Open(secret.NewText("correct horse batteru")); err == nil {
		t.Error("another passphrase opens it")
	}
	for name, bad := range map[string]*Wrapped{
		"nothing": nil, "no passes": {Memory: 1}, "no memory": {Time: 1},
		"many passes": {Time: mostPasses + 1, Memory: 1}, "much memory": {Time: 1, Memory: mostKiB + 1},
		"no text": {Time: 1, Memory: 64},
	} {
		if _, err := bad.Open(secret.NewText("correct horse battery")); err == nil {
			t.Errorf("%s is opened", name)
		}
	}
}

// file is a small backup.
func file(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	a := &archive{out: tar.NewWriter(&out), at: time.Unix(0, 0)}
	if err := a.addJSON(headerName, Header{Format: format, Services: []Service{{Name: "users"}}}); err != nil {
		t.Fatal(err)
	}
	c := chunks{add: func(_ int, compressed []byte) error { return a.add("users/users/000001.gz", compressed) }}
	_, err := c.Write([]byte("1\ta\n"))
	if err := errors.Join(err, c.flush()); err != nil {
		t.Fatal(err)
	}
	err = a.addJSON(endName, End{Tables: map[string]Sum{"users/users": c.sum}})
	if err := errors.Join(err, a.out.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func readAll(in io.Reader) (*Reader, string, error) {
	r, err := Open(in)
	if err != nil {
		return nil, "", err
	}
	var text strings.Builder
	for {
		m, err := r.next()
		if errors.Is(err, io.EOF) {
			return r, text.String(), nil
		}
		if err != nil {
			return r, "", err
		}
		inflated, err := m.inflate()
		if err != nil {
			return r, "", err
		}
		if _, err := io.Copy(&text, inflated); err != nil {
			return r, "", err
		}
	}
}

func TestReaderReturnsWhatWasWritten(t *testing.T) {
	t.Parallel()
	r, text, err := readAll(bytes.NewReader(file(t)))
	if err != nil || text != "1\ta\n" || r.end.Tables["users/users"].Rows != 1 || r.end.Rows() != 1 {
		t.Errorf("%q %+v %v", text, r, err)
	}
	other := bytes.Replace(file(t), []byte(`"format": 1`), []byte(`"format": 2`), 1)
	if _, err := Open(bytes.NewReader(other)); err == nil || !strings.Contains(err.Error(), "has the format 2") {
		t.Errorf("a backup of another format: %v", err)
	}
}

// FuzzOpen reads files that nobody has written as a backup. It fails if one makes the reader panic, or if a cut one
// counts as complete.
func FuzzOpen(f *testing.F) {
	whole := file(f)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("backup.json"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, _, err := readAll(bytes.NewReader(text))
		if err == nil && r.end == nil {
			t.Error("a backup without an end is complete")
		}
	})
}
