package command

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// printRefusals prints the first refusals.
func (a *importAnswer) printRefusals(terminal io.Writer) {
	for _, t := range a.first {
		fmt.Fprintln(terminal, folded(t.text, terminal))
	}
	if a.more > 0 {
		fmt.Fprintf(terminal, "… and %d more\n", a.more)
	}
}

// print writes the result of the import of a file.
func (a *importAnswer) print(out io.Writer, name string, check bool, took time.Duration) {
	refused := tally{uint64(len(a.failed)), "refused", tallies(a.reasons)}
	all := []tally{{uint64(a.imported), plural(a.imported, "user") + " imported in " + rounded(took), nil}, refused}
	if check {
		users := a.check.NewUsers + a.check.KnownUsers + refused.n
		all = append([]tally{{users, plural(users, "user") + " in " + line(name), []tally{
			{a.check.NewUsers, "new", nil}, {a.check.KnownUsers, "imported before", nil}, refused,
		}}}, a.hashes()...)
		all = append(all, tally{a.check.Mails, plural(a.check.Mails, "mail") + " would be sent", nil})
	}
	printTallies(out, "", all)
}

// rounded returns a time as people read it.
func rounded(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(100 * time.Millisecond).String()
}

// hashes returns how many hashes can be verified, by their formats.
func (a *importAnswer) hashes() []tally {
	accepted, refused := map[string]uint64{}, map[string]uint64{}
	good, bad := tally{of: "can be verified"}, tally{of: "cannot be verified"}
	for _, f := range a.check.HashFormats {
		accepted[f.Format], refused[f.Format] = f.Accepted, f.Refused
		good.n, bad.n = good.n+f.Accepted, bad.n+f.Refused
	}
	good.kinds, bad.kinds = tallies(accepted), tallies(refused)
	all := tally{good.n + bad.n, plural(good.n+bad.n, "password hash"), nil}
	switch {
	case all.n == 0:
	case bad.n == 0:
		all.kinds = []tally{good}
	default:
		good.of += fmt.Sprintf(" (%.4g %%)", 100*float64(good.n)/float64(all.n))
		all.kinds = []tally{good, bad}
	}
	return []tally{all}
}

// tally is a number of things, with the numbers of their kinds.
type tally struct {
	n     uint64
	of    string
	kinds []tally
}

// tallies returns the numbers that are not 0, the largest first.
func tallies(numbers map[string]uint64) []tally {
	var all []tally
	for of, n := range numbers {
		if n > 0 {
			all = append(all, tally{n, line(of), nil})
		}
	}
	slices.SortFunc(all, func(s, t tally) int { return cmp.Or(cmp.Compare(t.n, s.n), cmp.Compare(s.of, t.of)) })
	return all
}

// printTallies writes a line for each tally and, below it and indented, for each of its kinds.
func printTallies(out io.Writer, indent string, all []tally) {
	width := 0
	for _, t := range all {
		width = max(width, len(fmt.Sprint(t.n)))
	}
	for _, t := range all {
		fmt.Fprintf(out, "%s%*d %s\n", indent, width, t.n, t.of)
		printTallies(out, indent+strings.Repeat(" ", width+1), t.kinds)
	}
}

// count returns a number with its noun: 1 user, 2 users.
func count[N int | int64 | uint64](n N, of string) string { return fmt.Sprint(n, " ", plural(n, of)) }

// plural returns a noun in the singular for 1, and otherwise in the plural.
func plural[N int | int64 | uint64](n N, of string) string {
	switch {
	case n == 1:
		return of
	case strings.HasSuffix(of, "sh"):
		return of + "es"
	default:
		return of + "s"
	}
}
