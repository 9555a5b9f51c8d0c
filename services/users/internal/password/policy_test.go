package password

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"herald/shared/fault"
	"herald/shared/gen/fault/usersfault"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, password string
		want           error
	}{
		{"empty", "", usersfault.ErrPasswordTooShort},
		{"7 letters", "xkqzvbw", usersfault.ErrPasswordTooShort},
		{"8 letters", "xkqzvbwj", nil},
		{"no composition rules", "aaaaaaaaaaaaa b", nil},
		{"7 runes of 4 bytes", strings.Repeat("🐎", 7), usersfault.ErrPasswordTooShort},
		{"8 runes of 4 bytes", strings.Repeat("🐎", 8), nil},
		{"7 runes, 14 as typed", strings.Repeat("e\u0308", 7), usersfault.ErrPasswordTooShort},
		{"8 runes, 16 as typed", strings.Repeat("e\u0308", 8), nil},
		{"128 letters", strings.Repeat("xk", 64), nil},
		{"129 letters", strings.Repeat("xk", 64) + "z", usersfault.ErrPasswordTooLong},
		{"128 runes, 512 as typed", strings.Repeat("\u03b1\u0313\u0300\u0345", 128), nil},
		{"129 runes, 516 as typed", strings.Repeat("\u03b1\u0313\u0300\u0345", 129), usersfault.ErrPasswordTooLong},
		{"4 KiB and a byte", strings.Repeat("x", 4097), usersfault.ErrPasswordTooLong},
		{"a megabyte", strings.Repeat("x", 1<<20), usersfault.ErrPasswordTooLong},
		{"a megabyte of broken UTF-8", strings.Repeat("\xff", 1<<20), usersfault.ErrPasswordTooLong},
		{"broken UTF-8", "xkqzvbwj\xff", usersfault.ErrPasswordNotText},
		{"surrogate half", "xkqzvbwj\xed\xa0\x80", usersfault.ErrPasswordNotText},
		{"common", "password1", usersfault.ErrPasswordTooCommon},
		{"common, other case", "PassWord1", usersfault.ErrPasswordTooCommon},
		{"common, first of the list", strings.SplitN(commonPasswords, "\n", 2)[0], usersfault.ErrPasswordTooCommon},
		{"common with a tail", "password1 horse", nil},
		{"two common lines", "password1\n12345678", nil},
		{"common with the Kelvin sign, which is K in NFC", "shadow\u212ang", nil},
		{"common with the Kelvin sign", "mon\u212aey12", usersfault.ErrPasswordTooCommon},
	} {
		err := Check("field", c.password)
		if !errors.Is(err, c.want) || err != nil && fault.From(err).Fields[0].Path != "field" {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

func TestEveryCommonPasswordIsRefused(t *testing.T) {
	t.Parallel()
	sum := sha256.Sum256([]byte(commonPasswords))
	if hex.EncodeToString(sum[:]) != "bc1047c49db981097765cd0754e0d9295e786de5f72251e0cf3a50e1f6b0e303" {
		t.Error("common.txt is not the file that common.LICENSE names")
	}
	entries := strings.Fields(strings.ReplaceAll(commonPasswords, " ", "_"))
	if len(entries) < 10_000 {
		t.Errorf("%d entries", len(entries))
	}
	if commonPasswords != strings.ToLower(commonPasswords) {
		t.Error("Check compares in lower case")
	}
}

func TestRefusalsAreStable(t *testing.T) {
	t.Parallel()
	for id, refusal := range map[string]*fault.Fault{
		"PASSWORD_NOT_TEXT":   usersfault.ErrPasswordNotText,
		"PASSWORD_TOO_SHORT":  usersfault.ErrPasswordTooShort,
		"PASSWORD_TOO_LONG":   usersfault.ErrPasswordTooLong,
		"PASSWORD_TOO_COMMON": usersfault.ErrPasswordTooCommon,
	} {
		t.Run(id, func(t *testing.T) {
			if refusal.ID != id || refusal.Code != fault.Invalid || refusal.Message == "" {
				t.Errorf("%v", refusal)
			}
		})
	}
}
