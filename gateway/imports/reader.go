// Package imports reads users in the shape of a bulk import, as many as there are, and has
// them imported in small requests. Whatever comes, it keeps a few of them at a time: a body may
// be longer than the memory, and so may the answer.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"herald/gateway/transcode"
	"herald/shared/fault"
)

// Faults of what is read.
var (
	ErrTooLarge = fault.New(fault.Invalid, "IMPORT_ROW_TOO_LARGE", "A user of an import has at most 1 MiB")
	ErrNoOrg    = fault.New(fault.Invalid, "IMPORT_ORG_MISSING", "The organization of the user is missing").
			On("orgId", "is missing")
	ErrTimeout = fault.New(fault.Invalid, "IMPORT_TIMEOUT_INVALID",
		"timeout: a duration such as 30m0s or 1800s, at most 24 hours").On("timeout", "is not such a duration")
)

// Row is a user, or an organization without one.
type Row struct {
	// Number counts the users of the body from 1; 0 for an organization.
	Number uint64
	OrgID  string
	// Org is the JSON of the organization's data; empty where none was given yet.
	Org     []byte
	Machine bool
	// JSON is the user as it was sent, not necessarily valid. It is there until the next row.
	JSON []byte
	// Err is a fault for which the row is not imported.
	Err error
}

// Body is a body that is read once.
type Body struct {
	// Lines says that each line is a user or an organization with users.
	Lines bool
	// Row gets each row. It ends the reading with an error.
	Row func(Row) error
	// Timeout gets how long the import may take.
	Timeout func(time.Duration)
	// Folder is where users wait for the id of their organization that follows them; the
	// system's own for temporary files if it is empty.
	Folder string

	scanner *scanner
	rows    uint64
	// stopped is the error of Row.
	stopped error
}

func (b *Body) pass(r Row) error {
	b.stopped = b.Row(r)
	return b.stopped
}

// Read reads the whole body. Its errors are faults, but for those of Row.
func (b *Body) Read(from io.Reader) error {
	b.scanner = newScanner(from)
	if b.Lines {
		return b.lines()
	}
	if _, err := b.scanner.peek(); errors.Is(err, io.EOF) {
		return nil // an empty body stands for {}
	}
	err := b.scanner.members("", func(name string) (bool, error) {
		switch name {
		case "timeout":
			text, err := b.scanner.text("timeout")
			if err != nil {
				return true, err
			}
			return true, b.limit(text)
		case "dataOrgs":
			return true, b.scanner.members("dataOrgs", b.orgs)
		}
		return false, nil
	})
	if err != nil {
		return err
	}
	return b.scanner.finish()
}

// maxTimeout is the longest time that an import can ask for.
const maxTimeout = 24 * time.Hour

func (b *Body) limit(text string) error {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 || d > maxTimeout {
		return ErrTimeout
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

// org reads an organization with its users. line is the text around it if it stands in a line of
// its own: then it may be a user with the id of the organization.
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
				err = fault.ErrInvalid.On("org", "is too large").Say("org: is too large")
			}
			o.data = bytes.Clone(o.data)
			o.told = false
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
	// told reports whether a row with the data was passed on.
	told bool
	// early are users that stand before the id.
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

// row passes a user on; nil for one that was too large.
func (o *org) row(machine bool, text []byte) error {
	if o.id == "" {
		return o.early.put(o.body.Folder, machine, text)
	}
	return o.pass(machine, text, nil)
}

func (o *org) pass(machine bool, text []byte, err error) error {
	o.body.rows++
	if err == nil && text == nil {
		err = ErrTooLarge
	}
	o.told = true
	return o.body.pass(Row{Number: o.body.rows, OrgID: o.id, Org: o.data, Machine: machine, JSON: text, Err: err})
}

// release passes on the users that waited for the id.
func (o *org) release() error {
	var missing error
	if o.id == "" {
		missing = ErrNoOrg
	}
	return o.early.each(func(machine bool, text []byte) error { return o.pass(machine, text, missing) })
}

// end passes on what is left where the organization ends.
func (o *org) end() error {
	if o.id == "" {
		return o.release()
	}
	if o.told || len(o.data) == 0 {
		return nil
	}
	return o.body.pass(Row{OrgID: o.id, Org: o.data})
}

// lines reads a body of lines. A line that cannot be read does not touch the others.
func (b *Body) lines() error {
	for {
		line, err := b.scanner.line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if errors.Is(err, errTooLarge) {
			line, err = nil, b.refuse(nil, ErrTooLarge)
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
		return b.refuse(line, transcode.ErrJSON.Say("The line is not JSON"))
	}
	err := b.org(newLine(line), line)
	if f, ok := errors.AsType[*fault.Fault](err); ok && f.Code == fault.Invalid && b.stopped == nil {
		return b.refuse(line, f)
	}
	return err
}

// refuse passes on a line that is no row.
func (b *Body) refuse(line []byte, err error) error {
	b.rows++
	return b.pass(Row{Number: b.rows, JSON: line, Err: err})
}

// line reads to the end of a line, which is there until the next one is read.
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

// camel is the JSON name of a field whose name may be written as in the proto: data_orgs.
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
