package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// mostTold is the maximum number of refusals that are printed.
const mostTold = 20

// importAnswer is a summary of an answer, which may be larger than the memory.
type importAnswer struct {
	// orgs and imported are the numbers of organizations and users that are there now.
	orgs, imported int
	// failed has the numbers of the refused users.
	failed map[uint64]bool
	// others is the number of errors about no user. ended is the error that ended the import.
	others int
	ended  string
	// reasons has the number of errors by their id.
	reasons map[string]int
	check   struct {
		NewUsers, KnownUsers, Mails uint64
		HashFormats                 []hashFormat
	}
}

type hashFormat struct {
	Format            string
	Accepted, Refused uint64 `json:",string"`
}

type importError struct {
	Type, ID, Message, Reason string
	Row                       uint64 `json:",string"`
}

// readAnswer reads an answer in pieces, and prints the first errors.
func readAnswer(from io.Reader, terminal io.Writer) (*importAnswer, error) {
	a := &importAnswer{failed: map[uint64]bool{}, reasons: map[string]int{}}
	d := json.NewDecoder(from)
	return a, members(d, func(name string) error {
		switch name {
		case "success":
			return members(d, func(string) error { return elements(d, func() error { return a.org(d) }) })
		case "errors":
			return elements(d, func() error {
				var e importError
				if err := d.Decode(&e); err != nil {
					return err
				}
				a.refused(e, terminal)
				return nil
			})
		case "newUsers":
			return number(d, &a.check.NewUsers)
		case "knownUsers":
			return number(d, &a.check.KnownUsers)
		case "mails":
			return number(d, &a.check.Mails)
		case "hashFormats":
			return d.Decode(&a.check.HashFormats)
		}
		var other json.RawMessage
		return d.Decode(&other)
	})
}

func number(d *json.Decoder, to *uint64) error {
	var text json.Number
	if err := d.Decode(&text); err != nil {
		return err
	}
	_, err := fmt.Sscan(text.String(), to)
	return err
}

func (a *importAnswer) org(d *json.Decoder) error {
	return members(d, func(name string) error {
		if name == "orgId" {
			a.orgs++
			var id string
			return d.Decode(&id)
		}
		return elements(d, func() error {
			a.imported++
			_, err := d.Token()
			return err
		})
	})
}

func (a *importAnswer) refused(e importError, terminal io.Writer) {
	a.reasons[e.Reason]++
	about := e.Type
	switch {
	case e.Row > 0:
		a.failed[e.Row] = true
		about = fmt.Sprintf("user %d %s", e.Row, e.ID)
	case e.Type == "import":
		a.ended = e.Message
		return
	default:
		a.others++
		about += " " + e.ID
	}
	switch told := len(a.failed) + a.others; {
	case told <= mostTold:
		fmt.Fprintln(terminal, line(fmt.Sprintf("%s: %s", strings.TrimSpace(about), e.Message)))
	case told == mostTold+1:
		fmt.Fprintln(terminal, "…")
	}
}

// print writes the result of the import.
func (a *importAnswer) print(out io.Writer, check bool, took time.Duration) {
	if !check {
		fmt.Fprintf(out, "%s imported in %s, %d refused\n", count(a.imported, "user"), took.Round(100*time.Millisecond),
			len(a.failed))
	} else {
		all := a.check.NewUsers + a.check.KnownUsers + uint64(len(a.failed))
		fmt.Fprintf(out, "%s: %d new, %d imported before, %d refused\n", count(all, "user"), a.check.NewUsers,
			a.check.KnownUsers, len(a.failed))
		fmt.Fprintf(out, "%s would be sent\n", count(a.check.Mails, "mail"))
		a.printFormats(out)
	}
	for _, reason := range slices.Sorted(maps.Keys(a.reasons)) {
		fmt.Fprintf(out, "  %s: %d\n", reason, a.reasons[reason])
	}
}

func (a *importAnswer) printFormats(out io.Writer) {
	var accepted, all uint64
	for _, f := range a.check.HashFormats {
		accepted, all = accepted+f.Accepted, all+f.Accepted+f.Refused
	}
	if all == 0 {
		fmt.Fprintln(out, "no password hashes")
		return
	}
	fmt.Fprintf(out, "%.4g %% of %s can be verified\n", 100*float64(accepted)/float64(all),
		count(all, "password hash"))
	byName := func(f, g hashFormat) int { return strings.Compare(f.Format, g.Format) }
	for _, f := range slices.SortedFunc(slices.Values(a.check.HashFormats), byName) {
		fmt.Fprintf(out, "  %s: %d", f.Format, f.Accepted)
		if f.Refused > 0 {
			fmt.Fprintf(out, ", %d refused", f.Refused)
		}
		fmt.Fprintln(out)
	}
}

// count returns a number and what there is so many of: 1 user, 2 users.
func count[N int | int64 | uint64](n N, of string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(of, "sh"):
		of += "es"
	default:
		of += "s"
	}
	return fmt.Sprintf("%d %s", n, of)
}

// empty reports whether an import found neither a user nor an organization.
func (a *importAnswer) empty() bool { return a.orgs+a.imported+len(a.failed)+a.others == 0 }

// err returns nil if every user was imported.
func (a *importAnswer) err() error {
	switch {
	case a.ended != "":
		return fmt.Errorf("the import ended early: %s", line(a.ended))
	case len(a.failed) > 0:
		return fmt.Errorf("%s refused", count(len(a.failed), "user"))
	case a.others > 0:
		return errors.New("an organization was refused")
	}
	return nil
}

// members calls do with the name of each member of an object. do must read the value.
func members(d *json.Decoder, do func(name string) error) error {
	return inside(d, func() error {
		name, err := d.Token()
		if err != nil {
			return err
		}
		text, _ := name.(string)
		return do(text)
	})
}

func elements(d *json.Decoder, do func() error) error { return inside(d, do) }

// inside calls do for each member of an object or item of a list.
func inside(d *json.Decoder, do func() error) error {
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		if err := do(); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}
