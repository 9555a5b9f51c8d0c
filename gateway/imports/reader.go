// Package imports reads the body of a bulk import and sends its users to the service users in small
// requests. It has only a few users in memory at a time, so that bodies and answers can be larger
// than the memory.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
)

// Row is a user, or an organization without users.
type Row struct {
	// Number is the number of the user in the body, from 1. It is 0 for an organization.
	Number uint64
	OrgID  string
	// Org is the organization's data in JSON. It is empty if none came before the row.
	Org     []byte
	Machine bool
	// JSON is the user as it was sent, which may not be valid JSON. It must not be used after the
	// next row.
	JSON []byte
	// Err is the fault for which the row is not imported.
	Err error
}

// Body reads a body once.
type Body struct {
	// Lines reports that each line is a user or an organization with users.
	Lines bool
	// Row is called with each row. An error of it ends the reading.
	Row func(Row) error
	// Timeout is called with the time that the import may take.
	Timeout func(time.Duration)
	// Place is where users are written who come before the id of their organization.
	Place Place

	scanner *scanner
	rows    uint64
	// stopped is an error that Row has returned.
	stopped error
}

func (b *Body) pass(r Row) error {
	b.stopped = b.Row(r)
	return b.stopped
}

// Read reads the whole body. Its errors are faults, except those of Row.
func (b *Body) Read(from io.Reader) error {
	b.scanner = newScanner(from)
	if b.Lines {
		return b.lines()
	}
	if _, err := b.scanner.peek(); errors.Is(err, io.EOF) {
		return nil // an empty body counts as {}
	}
	err := b.around("", "dataOrgs", func(name string) (bool, error) {
		switch name {
		case "timeout":
			text, err := b.scanner.text("timeout")
			if err != nil {
				return true, err
			}
			return true, b.limit(text)
		case "dataOrgs":
			return true, b.around("dataOrgs", "orgs", b.orgs)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	return b.scanner.finish()
}

// around reads an object that has the organizations in a member. Unknown members are ignored. But an object with them
// and without that member is refused, because its name may be misspelled, and the import would succeed without users.
func (b *Body) around(path, member string, known func(name string) (bool, error)) error {
	var there, others bool
	err := b.scanner.members(path, func(name string) (bool, error) {
		found, err := known(name)
		there = there || name == member
		others = others || !found
		return found, err
	})
	if err == nil && others && !there {
		return gatewayfault.ErrImportDataMissing
	}
	return err
}

// maxTimeout is the longest time that an import can have.
const maxTimeout = 24 * time.Hour

func (b *Body) limit(text string) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return gatewayfault.ErrImportTimeoutInvalid
	}
	b.Timeout(d)
	return nil
}

func (b *Body) orgs(name string) (bool, error) {
	if name != "orgs" {
		return false, nil
	}
	there, err := b.scanner.open('[', "dataOrgs.orgs")
	if err != nil || !there {
		return true, err
	}
	return true, b.scanner.items(']', func() error { return b.org(b.scanner, nil) })
}

// org reads an organization with its users. line is the whole line if each line is an object, which
// can then also be a user with the id of the organization.
func (b *Body) org(s *scanner, line []byte) error {
	o := &org{body: b}
	defer o.early.close()
	user := false
	err := s.members("dataOrgs.orgs", func(name string) (known bool, err error) {
		switch name {
		case "orgId":
			if o.id, err = s.text("orgId"); err != nil {
				return true, err
			}
			return true, o.release()
		case "org":
			o.data, err = s.value(maxName)
			if errors.Is(err, errTooLarge) {
				err = fault.ErrInvalidArgument.On("org", "is too large").Say("org: is too large")
			}
			o.data = bytes.Clone(o.data)
			o.passed = false
			return true, err
		case "humanUsers", "machineUsers":
			return true, o.users(s, name)
		case "user", "userId":
			user = line != nil
		}
		return false, nil
	})
	if err == nil && user {
		err = o.row(false, line)
	}
	if err != nil {
		return err
	}
	return o.end()
}

// org is an organization that is being read.
type org struct {
	body *Body
	id   string
	data []byte
	// passed reports whether a row with the organization's data was passed to Row.
	passed bool
	// early are the users who came before the id.
	early Spool
}

func (o *org) users(s *scanner, list string) error {
	there, err := s.open('[', list)
	if err != nil || !there {
		return err
	}
	return s.items(']', func() error {
		text, err := s.value(maxValue)
		if errors.Is(err, errTooLarge) {
			text, err = nil, nil
		}
		if err != nil {
			return err
		}
		return o.row(list == "machineUsers", text)
	})
}

// row passes a user to Row, or stores it if the id of the organization is not known yet. text is
// nil for a user that was too large.
func (o *org) row(machine bool, text []byte) error {
	if o.id == "" {
		return o.early.put(o.body.Place, machine, text)
	}
	return o.pass(machine, text, nil)
}

func (o *org) pass(machine bool, text []byte, err error) error {
	o.body.rows++
	if err == nil && text == nil {
		err = gatewayfault.ErrImportRowTooLarge
	}
	o.passed = true
	return o.body.pass(Row{Number: o.body.rows, OrgID: o.id, Org: o.data, Machine: machine, JSON: text, Err: err})
}

// release passes the stored users to Row.
func (o *org) release() error {
	var missing error
	if o.id == "" {
		missing = gatewayfault.ErrImportOrgRequired
	}
	return o.early.each(func(machine bool, text []byte) error { return o.pass(machine, text, missing) })
}

// end passes the rest to Row at the end of the organization.
func (o *org) end() error {
	if o.id == "" {
		return o.release()
	}
	if o.passed || len(o.data) == 0 {
		return nil
	}
	return o.body.pass(Row{OrgID: o.id, Org: o.data})
}

// lines reads a body of lines. The other lines are read even if a line is wrong.
func (b *Body) lines() error {
	for {
		line, err := b.scanner.line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errTooLarge) {
			line, err = nil, b.refuse(nil, gatewayfault.ErrImportRowTooLarge)
		}
		if err != nil {
			return err
		}
		if len(line) == 0 {
			continue
		}
		if err := b.oneLine(line); err != nil {
			return err
		}
	}
}

func (b *Body) oneLine(line []byte) error {
	if !json.Valid(line) {
		return b.refuse(line, gatewayfault.ErrJSONMalformed.Say("The line is not JSON"))
	}
	err := b.org(newLine(line), line)
	if f, ok := errors.AsType[*fault.Fault](err); ok && f.Code == fault.Invalid && b.stopped == nil {
		return b.refuse(line, f)
	}
	return err
}

// refuse passes a line that is not a row to Row, with the reason.
func (b *Body) refuse(line []byte, err error) error {
	b.rows++
	return b.pass(Row{Number: b.rows, JSON: line, Err: err})
}

// line reads a line, which is valid until the next one is read.
func (s *scanner) line() ([]byte, error) {
	s.kept = s.kept[:0]
	for size := 0; ; {
		err := s.fill()
		if errors.Is(err, io.EOF) && size > 0 {
			return s.lineEnd(size)
		}
		if errors.Is(err, io.EOF) {
			return nil, err
		}
		if err != nil {
			return nil, s.broken(err)
		}
		n := bytes.IndexByte(s.rest, '\n')
		part := s.take(n + 1)
		if n < 0 {
			part = s.take(len(s.rest))
		}
		if size += len(part); size <= maxValue {
			s.kept = append(s.kept, part...)
		}
		if n >= 0 {
			return s.lineEnd(size)
		}
	}
}

func (s *scanner) lineEnd(size int) ([]byte, error) {
	if size > maxValue {
		return nil, errTooLarge
	}
	return bytes.TrimSpace(s.kept), nil
}

// camel returns the JSON name of a field, which may be written as in the proto, such as data_orgs.
func camel(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	parts := strings.Split(name, "_")
	for i, p := range parts[1:] {
		if p != "" {
			parts[i+1] = strings.ToUpper(p[:1]) + p[1:]
		}
	}
	return strings.Join(parts, "")
}
