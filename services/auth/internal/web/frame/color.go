package frame

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// readable is the least contrast of a text with what is behind it (WCAG 2.2 success criterion 1.4.3, level AA).
const readable = 4.5

// color is a color of a screen: red, green and blue.
type color [3]uint8

var (
	black = color{}
	white = color{255, 255, 255}

	// lightGrounds and darkGrounds are the colors of style.css on which links are written.
	lightGrounds = []color{{0xff, 0xff, 0xff}, {0xf2, 0xf3, 0xf6}}
	darkGrounds  = []color{{0x22, 0x25, 0x2d}, {0x15, 0x17, 0x1c}}
)

// parseColor reads # and six hexadecimal digits.
func parseColor(text string) (c color, ok bool) {
	digits, ok := strings.CutPrefix(text, "#")
	if b, err := hex.DecodeString(digits); ok && err == nil && len(b) == len(c) {
		return color(b), true
	}
	return c, false
}

func (c color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance returns the relative luminance of WCAG.
func (c color) luminance() (sum float64) {
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			sum += weight * v / 12.92
			continue
		}
		sum += weight * math.Pow((v+0.055)/1.055, 2.4)
	}
	return sum
}

// contrast returns the contrast ratio of WCAG: 1 for equal colors, 21 for black and white.
func (c color) contrast(with color) float64 {
	a, b := c.luminance(), with.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// onTop returns black or white, whichever is easier to read on the color. One of them always is readable.
func (c color) onTop() color {
	if c.contrast(black) > c.contrast(white) {
		return black
	}
	return white
}

// on returns a color that is readable on all grounds. It is the nearest one between this color and black or white.
func (c color) on(grounds []color, end color) color {
	const steps = 64
	for i := range steps {
		if mixed := c.mixed(end, float64(i)/steps); mixed.readableOn(grounds) {
			return mixed
		}
	}
	return end
}

func (c color) mixed(with color, share float64) (m color) {
	for i := range c {
		m[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(with[i])*share))
	}
	return m
}

func (c color) readableOn(grounds []color) bool {
	for _, g := range grounds {
		if c.contrast(g) < readable {
			return false
		}
	}
	return true
}
