package mailer

import (
	"strings"
	"testing"
)

func TestColorsAreSixHexadecimalDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Color{"#000000": {}, "#0b6e4f": {0x0b, 0x6e, 0x4f}, "#FFFFFF": White} {
		t.Run(text, func(t *testing.T) {
			if got, ok := ParseColor(text); !ok || got != want || !strings.EqualFold(got.String(), text) {
				t.Errorf("%q is %v, %t", text, got, ok)
			}
		})
	}
	for _, text := range []string{"", "#", "000000", "#fff", "#00000", "#0000000", "#gggggg", "red", "#000000;}"} {
		if got, ok := ParseColor(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// The contrasts of WCAG's own examples.
func TestContrastIsThatOfWCAG(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b Color
		want float64
	}{
		{Black, White, 21}, {White, White, 1}, {Color{0x77, 0x77, 0x77}, White, 4.48},
		{Color{0x76, 0x76, 0x76}, White, 4.54}, {Color{0xff, 0, 0}, White, 4.00},
		{Color{0, 0, 0xff}, White, 8.59},
	} {
		for _, got := range []float64{c.a.Contrast(c.b), c.b.Contrast(c.a)} {
			if got < c.want-0.005 || got > c.want+0.005 {
				t.Errorf("%v and %v have a contrast of %.3f, want %.2f", c.a, c.b, got, c.want)
			}
		}
	}
}
