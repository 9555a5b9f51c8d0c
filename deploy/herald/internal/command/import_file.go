package command

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"herald/gateway/imports"
	"herald/shared/boot"
)

// importFile is a file with users.
type importFile struct {
	*os.File
	name string
	size int64
	// packed reports that the file is compressed, and lines that each line is a user.
	packed, lines bool
}

func openImport(name string) (*importFile, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, fmt.Errorf("%s is a folder", name)
	}
	f := &importFile{File: file, name: name}
	if err := f.inspect(); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// inspect finds out the kind of file from its beginning.
func (f *importFile) inspect() error {
	about, err := f.Stat()
	if err != nil {
		return err
	}
	f.size = about.Size()
	magic := make([]byte, 2)
	_, err = f.ReadAt(magic, 0)
	f.packed = err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b})
	text, err := f.text()
	if err != nil {
		return err
	}
	// If the line is longer or cannot be read, the part that was read is not valid JSON.
	first, err := bufio.NewReaderSize(text, 1<<20).ReadSlice('\n')
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return errDamaged(err)
	}
	if err := otherKind(first); err != nil {
		return err
	}
	var one struct {
		OrgID any `json:"orgId"`
	}
	f.lines = json.Unmarshal(first, &one) == nil && one.OrgID != nil
	_, err = f.Seek(0, io.SeekStart)
	return err
}

// text returns a reader of the uncompressed file from its beginning, without a byte order mark.
func (f *importFile) text() (io.Reader, error) {
	var from io.Reader = f
	_, err := f.Seek(0, io.SeekStart)
	if err == nil && f.packed {
		if from, err = gzip.NewReader(f); err != nil {
			return nil, errDamaged(err)
		}
	}
	if err != nil {
		return nil, err
	}
	text, _ := imports.Unmarked(from)
	return text, nil
}

func errDamaged(err error) error {
	return fmt.Errorf("the compressed file is damaged (%w): compress it again", err)
}

// because adds to an error that the compressed file is damaged, if that is the cause.
func (f *importFile) because(err error) error {
	text, unread := f.text()
	if unread == nil && f.packed {
		_, unread = io.Copy(io.Discard, text)
	}
	if unread == nil {
		return err
	}
	return fmt.Errorf("%s: %w", f.name, errDamaged(unread))
}

// otherKind returns an error for a first line of an unknown format. The error says what to do.
func otherKind(first []byte) error {
	text := bytes.TrimSpace(first)
	switch {
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")),
		bytes.IndexByte(first[:min(4, len(first))], 0) >= 0:
		return errors.New("it is in UTF-16: convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8")
	case bytes.HasPrefix(first, []byte("PK\x03\x04")):
		return errors.New("it is an archive or a spreadsheet: an import takes JSON, see docs/moving-in.md")
	case bytes.HasPrefix(text, []byte("[")):
		return errors.New(`it is a list: an import takes {"dataOrgs":{"orgs":[…]}}, or a user in each line`)
	case !bytes.HasPrefix(text, []byte("{")) && bytes.ContainsAny(text, ",;\t"):
		return errors.New("it looks like CSV: an import takes JSON, which a database can write from a table as in " +
			"docs/moving-in.md")
	}
	return nil
}

// body returns the file as the body of a request, and shows the progress on a terminal.
func (f *importFile) body(out io.Writer) (body io.Reader, done func()) {
	if boot.Terminal(out) == 0 {
		return io.NopCloser(f), func() {} // so that the request does not close the file, which is read again
	}
	b := &bar{out: out, size: f.size, began: time.Now()}
	counted, count := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f.countRows(counted, &b.rows)
		_, _ = io.Copy(io.Discard, counted) // the answer names what cannot be read
	}()
	stop := b.start()
	return io.TeeReader(io.TeeReader(f, b), count), func() {
		_ = count.Close()
		<-ended
		stop()
	}
}

func (f *importFile) countRows(from io.Reader, rows *atomic.Int64) {
	if f.packed {
		unpacked, err := gzip.NewReader(from)
		if err != nil {
			return
		}
		from = unpacked
	}
	b := imports.Body{Lines: f.lines, Timeout: func(time.Duration) {}, Row: func(imports.Row) error {
		rows.Add(1)
		return nil
	}}
	_ = b.Read(from)
}

// each calls do with each row.
func (f *importFile) each(do func(imports.Row)) error {
	text, err := f.text()
	if err != nil {
		return err
	}
	b := imports.Body{Lines: f.lines, Timeout: func(time.Duration) {}, Row: func(r imports.Row) error {
		do(r)
		return nil
	}}
	_ = b.Read(text) // the answer has named what cannot be read
	return nil
}

// keepFailed writes the users with the given numbers to a file of the same shape.
func (f *importFile) keepFailed(name string, failed map[uint64]bool) error {
	to, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) // it may contain password hashes
	if err != nil {
		return err
	}
	defer to.Close()
	k := keeper{Writer: bufio.NewWriter(to), lines: f.lines}
	k.begin()
	if err := f.each(func(r imports.Row) {
		if failed[r.Number] {
			k.keep(r)
		}
	}); err != nil {
		return err
	}
	k.end()
	if err := k.Flush(); err != nil {
		return err
	}
	return to.Close()
}

// keeper writes users in the shape of the bulk import. Flush returns the first error of a write.
type keeper struct {
	*bufio.Writer
	lines bool
	orgs  int
	// org and machine describe the list that was begun last.
	org     string
	machine bool
}

func (k *keeper) begin() {
	if !k.lines {
		fmt.Fprint(k, `{"dataOrgs":{"orgs":[`)
	}
}

func (k *keeper) keep(r imports.Row) {
	if r.JSON == nil {
		return // was too large
	}
	if k.lines {
		fmt.Fprintf(k, "%s\n", bytes.ReplaceAll(r.JSON, []byte("\n"), []byte(" ")))
		return
	}
	if k.orgs > 0 && r.OrgID == k.org && r.Machine == k.machine {
		fmt.Fprint(k, ",\n")
		fmt.Fprintf(k, "%s", r.JSON)
		return
	}
	if k.orgs > 0 {
		fmt.Fprint(k, "]},\n")
	}
	k.org, k.machine = r.OrgID, r.Machine
	k.orgs++
	id, _ := json.Marshal(r.OrgID) // cannot fail for a string
	fmt.Fprintf(k, `{"orgId":%s,`, id)
	if r.Org != nil {
		fmt.Fprintf(k, `"org":%s,`, r.Org)
	}
	list := "humanUsers"
	if r.Machine {
		list = "machineUsers"
	}
	fmt.Fprintf(k, "%q:[\n", list)
	fmt.Fprintf(k, "%s", r.JSON)
}

func (k *keeper) end() {
	switch {
	case k.lines:
	case k.orgs > 0:
		fmt.Fprint(k, "]}]}}\n")
	default:
		fmt.Fprint(k, "]}}\n")
	}
}
