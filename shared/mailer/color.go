package mailer

import (
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// Readable is the least contrast of a text with what is behind it (WCAG 2.2 success criterion 1.4.3, level AA).
const Readable = 4.5

// Color is a color of a screen: red, green and blue. Organizations choose one for their pages and mails, and texts must
// be readable on it.
type Color [3]uint8

// The ends between which all colors are.
var (
	Black = Color{}
	White = Color{255, 255, 255}
)

// ParseColor reads # and six hexadecimal digits.
func ParseColor(text string) (c Color, ok bool) {
	digits, ok := strings.CutPrefix(text, "#")
	if b, err := hex.DecodeString(digits); ok && err == nil && len(b) == len(c) {
		return Color(b), true
	}
	return c, false
}

// String returns # and six hexadecimal digits.
func (c Color) String() string { return fmt.Sprintf("#%02x%02x%02x", c[0], c[1], c[2]) }

// luminance returns the relative luminance of WCAG.
func (c Color) luminance() (sum float64) {
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

// Contrast returns the contrast ratio of WCAG: 1 for equal colors, 21 for black and white.
func (c Color) Contrast(with Color) float64 {
	a, b := c.luminance(), with.luminance()
	return (max(a, b) + 0.05) / (min(a, b) + 0.05)
}

// OnTop returns black or white, whichever is easier to read on the color. One of them always is readable.
func (c Color) OnTop() Color {
	if c.Contrast(Black) > c.Contrast(White) {
		return Black
	}
	return White
}

// On returns a color that is readable on all grounds. It is the nearest one between this color and black or white.
func (c Color) On(grounds []Color, end Color) Color {
	const steps = 64
	for i := range steps {
		if mixed := c.mixed(end, float64(i)/steps); mixed.ReadableOn(grounds) {
			return mixed
		}
	}
	return end
}

func (c Color) mixed(with Color, share float64) (m Color) {
	for i := range c {
		m[i] = uint8(math.Round(float64(c[i])*(1-share) + float64(with[i])*share))
	}
	return m
}

// ReadableOn reports whether a text of the color is readable on all grounds.
func (c Color) ReadableOn(grounds []Color) bool {
	for _, g := range grounds {
		if c.Contrast(g) < Readable {
			return false
		}
	}
	return true
}
