package command

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/width"

	"herald/shared/boot"
)

const (
	// gap is the space between two columns of a table.
	gap = 2
	// least is the width to which a column is cut. If it does not fit even so, it is left out.
	least = 12
)

// writeTable writes a line of names and a line for each row. On a terminal the lines have its width at most. There the
// first column is whole, because people copy ids from it, and the others are cut. Elsewhere everything is whole.
func writeTable(w io.Writer, names []string, rows [][]string) error {
	widths := make([]int, len(names))
	for _, row := range append([][]string{names}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], wide(cell))
		}
	}
	columns := boot.Terminal(w)
	if columns > 0 {
		widths = fit(widths, columns)
	}
	var b strings.Builder
	head := make([]string, len(widths))
	for i, at := range widths {
		head[i] = cutFront(names[i], at)
	}
	writeCells(&b, widths, head)
	for _, row := range rows {
		cells := slices.Clone(row[:min(len(row), len(widths))])
		for i := range cells {
			cells[i] = cut(cells[i], widths[i])
		}
		writeCells(&b, widths, cells)
	}
	if _, err := io.WriteString(w, b.String()); err != nil || len(widths) == len(names) {
		return err
	}
	_, err := fmt.Fprintln(w, fold("Not shown, for lack of width: "+strings.Join(names[len(widths):], ", "), columns))
	return err
}

// fit returns widths with which the columns have the given width together. There are fewer of them if not all columns
// fit. The widest are cut first.
func fit(widths []int, columns int) []int {
	fitted, used := []int{}, -gap
	for i, full := range widths {
		narrow := min(full, least)
		if i == 0 {
			narrow = min(full, columns)
		}
		if used += gap + narrow; used > columns {
			used -= gap + narrow
			break
		}
		fitted = append(fitted, narrow)
	}
	for grown := true; grown; {
		grown = false
		for i := range fitted {
			if used < columns && fitted[i] < widths[i] {
				fitted[i]++
				used++
				grown = true
			}
		}
	}
	return fitted
}

func writeCells(b *strings.Builder, widths []int, cells []string) {
	for i, cell := range cells {
		b.WriteString(cell)
		if i < len(cells)-1 {
			b.WriteString(strings.Repeat(" ", widths[i]-wide(cell)+gap))
		}
	}
	b.WriteByte('\n')
}

// writeList writes a name and a value on each line. On a terminal a value continues below itself. A word that is wider
// than the terminal stays whole, so that a token can be copied.
func writeList(w io.Writer, values []value) error {
	names := 0
	for _, v := range values {
		names = max(names, wide(v.name))
	}
	columns := boot.Terminal(w)
	var b strings.Builder
	for _, v := range values {
		text := v.text
		if columns > 0 {
			text = foldFrom(text, columns, names+gap, names+gap)
		}
		writeCells(&b, []int{names}, []string{v.name, text})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cut cuts the end of a text that is wider than a number of columns.
func cut(text string, columns int) string {
	if wide(text) <= columns {
		return text
	}
	at, used := 0, 1 // the ellipsis
	for i, r := range text {
		if used += wideRune(r); used > columns {
			break
		}
		at = i + len(string(r))
	}
	return text[:at] + "…"
}

// cutFront cuts the beginning of a name that is wider than a number of columns, because its end says more.
func cutFront(name string, columns int) string {
	if runes := []rune(name); len(runes) > columns {
		return "…" + string(runes[len(runes)-columns+1:])
	}
	return name
}

// wide returns how many columns of a terminal a text takes.
func wide(text string) (n int) {
	for _, r := range text {
		n += wideRune(r)
	}
	return n
}

func wideRune(r rune) int {
	switch kind := width.LookupRune(r).Kind(); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		return 0
	case kind == width.EastAsianWide, kind == width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// folded breaks a text into lines that fit on a terminal, and indents all lines but the first. If w is not a terminal
// it returns one line.
func folded(text string, w io.Writer) string {
	if columns := boot.Terminal(w); columns > 0 {
		return fold(text, columns)
	}
	return text
}

func fold(text string, columns int) string { return foldFrom(text, columns, 0, 2) }

// foldFrom breaks a text into lines. The first begins at a column, and the others are indented.
func foldFrom(text string, columns, at, indent int) string {
	var b strings.Builder
	for i, word := range strings.Split(text, " ") {
		n := wide(word)
		switch {
		case i == 0:
		case at+1+n > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += n
	}
	return b.String()
}
