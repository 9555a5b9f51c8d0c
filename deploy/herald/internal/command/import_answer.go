package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// mostPrinted is the maximum number of refusals that are printed: the first ones of the file.
const mostPrinted = 20

// importAnswer is a summary of an answer, which may be larger than the memory.
type importAnswer struct {
	// orgs and imported are the numbers of organizations and users that are there now.
	orgs, imported int
	// failed has the numbers of the refused users, and reasons how many were refused by the id of the error.
	failed  map[uint64]bool
	reasons map[string]uint64
	// first are the refusals that are printed, in the order of the file. more is the number of the others.
	first []refusedRow
	more  int
	// others is the number of errors about no user. ended is the error that ended the import.
	others int
	ended  string
	check  struct {
		NewUsers, KnownUsers, Mails uint64
		HashFormats                 []hashFormat
	}
}

// refusedRow is a refusal that is printed. If the row is 0 it is not about a user.
type refusedRow struct {
	row  uint64
	text string
}

type hashFormat struct {
	Format            string
	Accepted, Refused uint64 `json:",string"`
}

type importError struct {
	Type, ID, OrgID, Message, Reason string
	Row                              uint64 `json:",string"`
}

// readAnswer reads an answer in pieces.
func readAnswer(from io.Reader) (*importAnswer, error) {
	a := &importAnswer{failed: map[uint64]bool{}, reasons: map[string]uint64{}}
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
				a.refused(e)
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

func (a *importAnswer) refused(e importError) {
	about := e.Type
	switch {
	case e.Row > 0:
		a.failed[e.Row] = true
		a.reasons[e.Reason]++
		about = fmt.Sprintf("user %d", e.Row)
	case e.Type == "import":
		a.ended = e.Message
		return
	default:
		a.others++
	}
	about = strings.TrimSpace(about + " " + e.ID)
	if e.OrgID != "" && e.OrgID != e.ID {
		about += " of " + e.OrgID
	}
	text := line(about + ": " + e.Message)
	at, _ := slices.BinarySearchFunc(a.first, e.Row, func(t refusedRow, row uint64) int {
		return cmp.Or(cmp.Compare(t.row, row), -1) // behind those of the same row
	})
	a.first = slices.Insert(a.first, at, refusedRow{e.Row, text})
	if len(a.first) > mostPrinted {
		a.first = a.first[:mostPrinted]
		a.more++
	}
}

// empty reports whether an import found neither a user nor an organization, or a check no user.
func (a *importAnswer) empty() bool {
	return uint64(a.orgs+a.imported+len(a.failed)+a.others)+a.check.NewUsers+a.check.KnownUsers == 0
}

// err returns nil if no user and no organization was refused.
func (a *importAnswer) err() error {
	switch {
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
