package secret_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"herald/shared/secret"
)

const planted = "c4n4ry"

// holders are values that contain a secret in all the ways in which it could be printed.
func holders() map[string]any {
	text := secret.NewText(planted)
	keys, err := secret.ParseKeys(strings.Repeat("63346e347279"+"00", 5)[:64])
	if err != nil {
		panic(err)
	}
	type exported struct{ Text secret.Text }
	type unexported struct{ text secret.Text }
	return map[string]any{
		"text": text, "pointer": &text,
		"field": exported{text}, "pointer to field": &exported{text}, "unexported field": unexported{text},
		"deep": []any{map[string]unexported{"x": {text}}},
		"list": []secret.Text{text}, "map": map[string]secret.Text{"x": text}, "key": map[secret.Text]int{text: 1},
		"error": fmt.Errorf("login: %v", text), "keys": keys, "pointer to keys": &keys,
		"field of keys": struct{ k secret.Keys }{keys},
	}
}

// shows reports whether printed contains the secret, in any form in which fmt writes text.
func shows(printed string) bool {
	printed = strings.ToLower(printed)
	for _, way := range []string{planted, fmt.Sprintf("%x", planted), strings.Trim(fmt.Sprint([]byte(planted)), "[]"),
		strings.Trim(fmt.Sprintf("%#v", []byte(planted)), "[]byte{}"), strings.Trim(fmt.Sprintf("% x", planted), " ")} {
		if strings.Contains(printed, way) {
			return true
		}
	}
	return false
}

func TestTextDoesNotPrint(t *testing.T) {
	t.Parallel()
	for name, holder := range holders() {
		for _, flags := range []string{"", "+", "#", " ", "010", "-20.10"} {
			for _, verb := range "vTtbcdoOqxXUeEfFgGsp" {
				format := "%" + flags + string(verb)
				if printed := fmt.Sprintf(format, holder); shows(printed) {
					t.Errorf("%s of %s prints %s", format, name, printed)
				}
			}
		}
		if printed := fmt.Sprint(holder) + fmt.Sprintln(holder); shows(printed) {
			t.Errorf("Print of %s prints %s", name, printed)
		}
		if marshalled, err := json.Marshal(holder); err == nil && shows(string(marshalled)) {
			t.Errorf("%s marshals to %s", name, marshalled)
		}
		if marshalled, err := xml.Marshal(holder); err == nil && shows(string(marshalled)) {
			t.Errorf("%s marshals to %s", name, marshalled)
		}
		var log bytes.Buffer
		for _, h := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
			slog.New(h).With("before", holder).Info("message", "value", holder, slog.Group("group", "value", holder))
		}
		if shows(log.String()) {
			t.Errorf("%s is logged as %s", name, log.String())
		}
	}
}

// The check above must find a plain text, otherwise it proves nothing.
func TestShowsFindsPlainText(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{planted, "C4N4RY", fmt.Sprintf("%x", planted), fmt.Sprintf("%d", []byte(planted)),
		fmt.Sprintf("%#v", []byte(planted))} {
		if !shows(printed) {
			t.Errorf("%s passes", printed)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	text := secret.NewText(planted)
	if fmt.Sprintf("%s|%v|%+v|%#v|%q|%d", text, text, text, text, text, text) != "***|***|***|***|***|***" ||
		text.String() != "***" {
		t.Error("not masked as ***")
	}
	if got, err := json.Marshal(map[string]any{"t": text}); string(got) != `{"t":"***"}` || err != nil {
		t.Errorf("JSON %s, %v", got, err)
	}
	var none, read secret.Text
	if text.Reveal() != planted || text.Empty() || !none.Empty() || none.Reveal() != "" || fmt.Sprint(none) != "***" ||
		!secret.NewText("").Empty() {
		t.Error("the secret itself is lost")
	}
	if err := json.Unmarshal([]byte(`"`+planted+`"`), &read); err != nil || read.Reveal() != planted {
		t.Errorf("read %q, %v", read.Reveal(), err)
	}
}

func TestEqual(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a", "", false}, {"a", "a\x00", false},
		{"", "\x00", false}} {
		if secret.Equal([]byte(c.a), []byte(c.b)) != c.want {
			t.Errorf("%q and %q: not %v", c.a, c.b, c.want)
		}
	}
}

func newKeys(t testing.TB, texts ...string) secret.Keys {
	t.Helper()
	k, err := secret.ParseKeys(strings.Join(texts, ""))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestParseKeys(t *testing.T) {
	t.Parallel()
	one, two := secret.NewKeyText(), secret.NewKeyText()
	if one == two {
		t.Error("the same key twice")
	}
	for _, text := range []string{
		one, strings.TrimSpace(one), "\r\n " + one + "\n\n" + two + " \n", strings.ToUpper(one),
	} {
		if _, err := secret.ParseKeys(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"", "\n \n", one[:62], one[:63], strings.TrimSpace(one) + "00", "g" + one[1:],
		one + "x", strings.TrimSpace(one) + " " + two} {
		_, err := secret.ParseKeys(text)
		empty := strings.TrimSpace(text) == ""
		if err == nil || errors.Is(err, secret.ErrNoKey) != empty ||
			!empty && !strings.Contains(err.Error(), "a line of 64 hexadecimal digits") ||
			len(text) > 10 && strings.Contains(err.Error(), text[:10]) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Keys for some purposes derive what the master keys do, and nothing else.
func TestKeysForPurposes(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	k := newKeys(t, fresh, old)
	text := k.For("a", "b/c").Reveal()
	if strings.Contains(text, strings.TrimSpace(old)) || strings.Contains(text, strings.TrimSpace(fresh)) {
		t.Error("the master key is told")
	}
	few := newKeys(t, text)
	for i, one := range few.Each() {
		for _, purpose := range []string{"a", "b/c"} {
			if !bytes.Equal(one.Derive(purpose), k.Each()[i].Derive(purpose)) {
				t.Errorf("key %d derives another one for %s", i, purpose)
			}
		}
	}
	if !k.Holds() || !k.Holds("b") || few.Holds() || !few.Holds("a", "b/c") || few.Holds("a", "b") {
		t.Error("what keys say that they hold is wrong")
	}
	for name, use := range map[string]func(){
		"another purpose": func() { few.Derive("b") },
		"sealing":         func() { few.Seal([]byte("x"), secret.Column{}, "") },
		"the text":        func() { few.Text() },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("works")
				}
			}()
			use()
		})
	}
	for _, wrong := range []string{"a=", "a=00", text[:70] + " " + old, old[:64] + " " + text} {
		if _, err := secret.ParseKeys(wrong); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}

func TestDerive(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	k := newKeys(t, old)
	if d := k.Derive("a"); len(d) != 32 || !bytes.Equal(d, newKeys(t, old).Derive("a")) ||
		bytes.Equal(d, k.Derive("b")) || bytes.Equal(d, newKeys(t, fresh).Derive("a")) {
		t.Error("a key is of 32 bytes, one for each purpose and master key")
	}
	if !bytes.Equal(newKeys(t, fresh, old).Derive("a"), newKeys(t, fresh).Derive("a")) {
		t.Error("after a rotation the newest master key derives")
	}
	// RFC 5869 with SHA-256, no salt, info herald/a; from an independent implementation.
	fixed := newKeys(t, strings.Repeat("0b", 32))
	if got := fmt.Sprintf(
		"%x", fixed.Derive("a")); got != "80dae6d5cdea308e9622ad3380707a2aec3e7985eb854d586fcec8a75e821d4f" {
		t.Errorf("derived %s", got)
	}
}

var otp = secret.Column{Table: "users", Name: "otp", Key: "id"}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	k := newKeys(t, old)
	for _, plain := range []string{"", "x", strings.Repeat("long", 1000)} {
		sealed := k.Seal([]byte(plain), otp, "1")
		if plain != "" && bytes.Contains(sealed, []byte(plain)) && len(plain) > 1 {
			t.Error("not sealed")
		}
		if opened, err := k.Open(sealed, otp, "1"); err != nil || string(opened) != plain {
			t.Errorf("opened %q, %v", opened, err)
		}
		if again := k.Seal([]byte(plain), otp, "1"); bytes.Equal(again, sealed) {
			t.Error("sealed twice alike")
		}
	}
	sealed := k.Seal([]byte(planted), otp, "1")
	refused := func(name string, k secret.Keys, sealed []byte, c secret.Column, row string) {
		t.Helper()
		if opened, err := k.Open(sealed, c, row); !errors.Is(err, secret.ErrSeal) || opened != nil {
			t.Errorf("%s: opened %q, %v", name, opened, err)
		}
	}
	for _, row := range []string{"2", "", "1 ", "|1"} {
		refused("row "+row, k, sealed, otp, row)
	}
	for _, c := range []secret.Column{
		{}, {Table: "users"}, {Table: "users", Name: "otp2"}, {Table: "user", Name: "otp"},
	} {
		refused("column "+c.String(), k, sealed, c, "1")
	}
	for i := range sealed {
		for bit := range 8 {
			tampered := slices.Clone(sealed)
			tampered[i] ^= 1 << bit
			refused(fmt.Sprintf("bit %d of byte %d", bit, i), k, tampered, otp, "1")
		}
		refused(fmt.Sprintf("cut to %d", i), k, sealed[:i], otp, "1")
	}
	refused("longer", k, append(slices.Clone(sealed), 0), otp, "1")
	refused("another key", newKeys(t, fresh), sealed, otp, "1")
	rotated := newKeys(t, fresh, old)
	if opened, err := rotated.Open(sealed, otp, "1"); err != nil || string(opened) != planted {
		t.Errorf("after a rotation: %q, %v", opened, err)
	}
	renewed := rotated.Seal([]byte(planted), otp, "1")
	refused("sealed after the rotation", k, renewed, otp, "1")
	if _, err := newKeys(t, fresh).Open(renewed, otp, "1"); err != nil {
		t.Error(err)
	}
}

// The keys of a file have different ids and can be reordered and written again.
func TestKeysInOrder(t *testing.T) {
	t.Parallel()
	old, fresh := secret.NewKeyText(), secret.NewKeyText()
	k := newKeys(t, old, fresh)
	ids := k.IDs()
	if k.Text().Reveal() != old+fresh || len(ids) != 2 || ids[0] != newKeys(t, old).IDs()[0] || ids[0] == ids[1] ||
		len(ids[0].String()) != 8 || strings.Contains(old, ids[0].String()) {
		t.Errorf("%v", ids)
	}
	if sealed := k.Seal([]byte(planted), otp, "1"); !bytes.HasPrefix(sealed, ids[0][:]) {
		t.Error("a sealed secret does not begin with the id of its key")
	}
	for i, one := range k.Each() {
		if !slices.Equal(one.IDs(), ids[i:i+1]) {
			t.Errorf("key %d is %v", i, one.IDs())
		}
	}
	if turned, known := k.Front(ids[1].String()); !known || turned.Text().Reveal() != fresh+old {
		t.Error("not put before the other")
	}
	if same, known := k.Front(ids[0].String()); !known || same.Text().Reveal() != old+fresh {
		t.Error("the first one is not the first any more")
	}
	if same, known := k.Front("00000000"); known || same.Text().Reveal() != old+fresh ||
		k.Text().Reveal() != old+fresh {
		t.Error("a key that is not there changes the order")
	}
}

func TestMACOfParts(t *testing.T) {
	t.Parallel()
	key := bytes.Repeat([]byte{1}, 32)
	seen := map[string][]string{}
	for _, parts := range [][]string{
		nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"a", "b"}, {"ab"}, {"ab", ""}, {"a", "b", ""}, {"1:a"},
		{"1", "a"},
		{"a1:b"}, {"a", "1:b"}, {"a:", "b"}, {"a", ":b"}, {"0:", "0:"}, {"0:0:"}, {strings.Repeat("x", 10)},
		{strings.Repeat("x", 100)},
	} {
		mac := secret.MAC(key, parts...)
		if other, double := seen[string(mac)]; double || len(mac) != 32 {
			t.Errorf("%q and %q look alike", parts, other)
		}
		seen[string(mac)] = parts
		if !bytes.Equal(mac, secret.MAC(key, parts...)) ||
			bytes.Equal(mac, secret.MAC(bytes.Repeat([]byte{2}, 32), parts...)) {
			t.Errorf("%q: the key decides", parts)
		}
	}
}

func BenchmarkMAC(b *testing.B) {
	key, text := bytes.Repeat([]byte{1}, 32), strings.Repeat("x", 200)
	b.ReportAllocs()
	for b.Loop() {
		secret.MAC(key, text)
	}
}
