package frame

import (
	"math/rand/v2"
	"strings"
	"testing"

	"herald/shared/mailer"
)

// The colors of pages are those of the style, so that links are readable on them.
func TestLinkGroundsAreColorsOfTheStyle(t *testing.T) {
	t.Parallel()
	light, dark, _ := strings.Cut(style, "@media (prefers-color-scheme: dark)")
	for css, grounds := range map[string][]mailer.Color{light: lightGrounds, dark: darkGrounds} {
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
	all := []mailer.Color{mailer.Black, mailer.White}
	for _, text := range strings.Fields("#2f56d9 #0b6e4f #ffcc00 #ffff00 #00ff00 #ff0000 #0000ff #777777 #767676 " +
		"#808080 #22252d #15171c #f2f3f6 #ff00ff #00ffff #010101 #fefefe") {
		c, ok := mailer.ParseColor(text)
		if !ok {
			t.Fatal(text)
		}
		all = append(all, c)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		n := random.Uint32()
		all = append(all, mailer.Color{uint8(n), uint8(n >> 8), uint8(n >> 16)})
	}
	for _, c := range all {
		if got := c.Contrast(c.OnTop()); got < mailer.Readable {
			t.Errorf("%v on a button of %v has a contrast of %.2f", c.OnTop(), c, got)
		}
		for _, page := range []struct {
			grounds []mailer.Color
			end     mailer.Color
		}{{lightGrounds, mailer.Black}, {darkGrounds, mailer.White}} {
			link := c.On(page.grounds, page.end)
			for _, ground := range page.grounds {
				if got := link.Contrast(ground); got < mailer.Readable {
					t.Errorf("for %v a link of %v on %v has a contrast of %.2f", c, link, ground, got)
				}
			}
			if c.ReadableOn(page.grounds) && link != c {
				t.Errorf("%v is readable on %v, and links are %v", c, page.grounds, link)
			}
		}
	}
}
