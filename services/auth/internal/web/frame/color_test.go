package frame

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestColorsAreSixHexadecimalDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]color{"#000000": {}, "#0b6e4f": {0x0b, 0x6e, 0x4f}, "#FFFFFF": white} {
		t.Run(text, func(t *testing.T) {
			if got, ok := parseColor(text); !ok || got != want || !strings.EqualFold(got.String(), text) {
				t.Errorf("%q is %v, %t", text, got, ok)
			}
		})
	}
	for _, text := range []string{"", "#", "000000", "#fff", "#00000", "#0000000", "#gggggg", "red", "#000000;}"} {
		if got, ok := parseColor(text); ok {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// The contrasts of WCAG's own examples.
func TestContrastIsThatOfWCAG(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b color
		want float64
	}{
		{black, white, 21}, {white, white, 1}, {color{0x77, 0x77, 0x77}, white, 4.48},
		{color{0x76, 0x76, 0x76}, white, 4.54}, {color{0xff, 0, 0}, white, 4.00},
		{color{0, 0, 0xff}, white, 8.59},
	} {
		for _, got := range []float64{c.a.contrast(c.b), c.b.contrast(c.a)} {
			if got < c.want-0.005 || got > c.want+0.005 {
				t.Errorf("%v and %v have a contrast of %.3f, want %.2f", c.a, c.b, got, c.want)
			}
		}
	}
}

// The colors of pages are those of the style, so that links are readable on them.
func TestLinkGroundsAreColorsOfTheStyle(t *testing.T) {
	t.Parallel()
	light, dark, _ := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	for css, grounds := range map[string][]color{light: lightGrounds, dark: darkGrounds} {
		t.Run(css, func(t *testing.T) {
			for i, name := range []string{"--card: ", "--page: "} {
				if !strings.Contains(css, name+grounds[i].String()+";") {
					t.Errorf("%s%v is not in the style", name, grounds[i])
				}
			}
		})
	}
}

// Whatever an organization chooses, texts on buttons and links are readable, and a color that is readable stays.
func TestTextsOnEveryColorAreReadable(t *testing.T) {
	t.Parallel()
	all := []color{black, white}
	for _, text := range strings.Fields("#2f56d9 #0b6e4f #ffcc00 #ffff00 #00ff00 #ff0000 #0000ff #777777 #767676 " +
		"#808080 #22252d #15171c #f2f3f6 #ff00ff #00ffff #010101 #fefefe") {
		c, ok := parseColor(text)
		if !ok {
			t.Fatal(text)
		}
		all = append(all, c)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := random.Uint32()
		all = append(all, color{uint8(n), uint8(n >> 8), uint8(n >> 16)})
	}
	for _, c := range all {
		if got := c.contrast(c.onTop()); got < readable {
			t.Errorf("%v on a button of %v has a contrast of %.2f", c.onTop(), c, got)
		}
		for _, page := range []struct {
			grounds []color
			end     color
		}{{lightGrounds, black}, {darkGrounds, white}} {
			link := c.on(page.grounds, page.end)
			for _, ground := range page.grounds {
				if got := link.contrast(ground); got < readable {
					t.Errorf("for %v a link of %v on %v has a contrast of %.2f", c, link, ground, got)
				}
			}
			if c.readableOn(page.grounds) && link != c {
				t.Errorf("%v is readable on %v, and links are %v", c, page.grounds, link)
			}
		}
	}
}
