package password

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"herald/shared/fault"
)

// formatsOfPeople has hashes of all formats, quick and slow ones.
var formatsOfPeople = []string{
	"{SSHA}" + base64Of(24), "$1$s$" + strings.Repeat(".", 22), "$P$Bsaltsalt" + strings.Repeat(".", 22),
	"$5$s$" + strings.Repeat(".", 43), "$6$rounds=100000$s$" + strings.Repeat(".", 86),
	"$pbkdf2-sha256$6400$" + salt16 + "$" + key32, "$pbkdf2-sha256$600000$" + salt16 + "$" + key32,
	"$2b$10$" + strings.Repeat(".", 53), "$scrypt$ln=14,r=8,p=1$" + salt16 + "$" + key32,
	"$argon2id$v=19$m=47104,t=1,p=1$" + salt16 + "$" + key32,
}

// A quick hash is derived together with a new one, so that its check is no quicker.
func TestQuickHashesAreFilledUp(t *testing.T) {
	t.Parallel()
	for _, encoded := range append(formatsOfPeople, "") {
		h, hash := NewHasher(2, 9), parse(t, encoded)
		if _, _, err := h.Verify(t.Context(), hash, "wrong"); err != nil {
			t.Fatal(err)
		}
		want := int64(1)
		if !hash.IsZero() {
			if _, kept := hash.open(); kept.takes(5) < unfilled().takes(5)/2 {
				want = 2
			}
		}
		if got := h.Derivations(); got != want {
			t.Errorf("%.30s: %d keys are derived, want %d", encoded, got, want)
		}
	}
}

// A specimen is as slow as its hash, and has neither its salt nor its key.
func TestSpecimenIsAsSlowAsItsHash(t *testing.T) {
	t.Parallel()
	specimens := 0
	for _, encoded := range append(append([]string{}, costly...), formatsOfPeople...) {
		hash := parse(t, encoded)
		_, specimen, estimate, slow := hash.Specimen()
		if !slow {
			continue
		}
		specimens++
		_, kept := hash.open()
		again, err := Parse(specimen)
		if err != nil {
			t.Errorf("%.60s: %.60s: %v", encoded, specimen, err)
			continue
		}
		if _, same := again.open(); same.takes(9) != kept.takes(9) || estimate != kept.takes(typical) {
			t.Errorf("%.60s takes %v, its specimen %v", encoded, kept.takes(9), same.takes(9))
		}
		if strings.Contains(specimen, salt16) || strings.Contains(specimen, key32) {
			t.Errorf("%.60s has its salt or key", specimen)
		}
	}
	if specimens < len(costly) {
		t.Errorf("%d hashes have a specimen", specimens)
	}
}

// known returns a Hasher that has measured: a check takes as long as estimated.
func known(specimens ...string) *Hasher {
	h := NewHasher(2, 9)
	for _, s := range append(specimens, "") {
		h.refusals.speeds[s] = 1
	}
	return h
}

// A refusal takes longer than any check: of a quick hash with a new one, and of the slowest specimen, in each spelling.
func TestRefusalTakesLongerThanAnyCheck(t *testing.T) {
	t.Parallel()
	h := known(formatsOfPeople...)
	for _, password := range []string{"", ascii, strings.Repeat("x", 512), "e\u0301"} {
		spellings := 1
		if password == "e\u0301" {
			spellings = 2
		}
		floor := h.floor(formatsOfPeople, password)
		for _, encoded := range formatsOfPeople {
			_, kept := parse(t, encoded).open()
			var check time.Duration
			for range spellings {
				check += kept.takes(len(password))
			}
			if kept.takes(len(password)) < unfilled().takes(1)/2 {
				check += unfilled().takes(1)
			}
			if floor < check*5/4 {
				t.Errorf("%.30s with %d bytes takes %v, a refusal %v", encoded, len(password), check, floor)
			}
		}
	}
	if alone := h.floor(nil, ascii); alone != 3*unfilled().takes(1) {
		t.Errorf("without imported hashes a refusal takes %v", alone)
	}
	slowest := "$pbkdf2-sha512$2000000$" + salt16 + "$" + base64Of(128)
	if floor := known(slowest).floor([]string{slowest}, ascii); floor != maxRefusal {
		t.Errorf("a refusal takes up to %v", floor)
	}
}

// A refusal that waits holds no place of the queues, keeps to the time of its request, and too many do not wait.
func TestRefusalsHoldNoPlace(t *testing.T) {
	t.Parallel()
	h := known()
	h.refusals.speeds[""] = 1e6
	for range maxHeld {
		h.refusals.held <- struct{}{}
	}
	if err := h.Refuse(t.Context(), time.Now(), nil, ascii); !errors.Is(err, fault.ErrOverloaded) {
		t.Errorf("one more: %v", err)
	}
	if _, err := h.Hash(t.Context(), ascii); err != nil {
		t.Errorf("a new password meanwhile: %v", err)
	}
	<-h.refusals.held
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Refuse(gone, time.Now().Add(time.Hour), nil, ascii); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that has ended: %v", err)
	}
	short, stop := context.WithTimeout(t.Context(), spare+time.Millisecond)
	defer stop()
	if err := h.Refuse(short, time.Now().Add(time.Hour), nil, ascii); err != nil {
		t.Errorf("at the end of the request: %v", err)
	}
}
