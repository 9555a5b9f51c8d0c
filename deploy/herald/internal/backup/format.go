// Package backup writes all databases, as they are at one moment, into one file, and restores them from it.
//
// The file is a tar archive. Its first member is backup.json, a Header. Then come members such as
// users/users/000001.gz: rows of a table as Postgres's COPY writes them, compressed. The last member is end.json, with
// the number of rows and a digest of every table. A file without it is not complete.
package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	format     = 1
	headerName = "backup.json"
	endName    = "end.json"
	// mostJSON is the largest size in bytes of a header or an end.
	mostJSON = 4 << 20
	// chunk is how many bytes of rows a member has before it is compressed, unless one row has more.
	chunk = 2 << 20
	// mostMember is the largest size in bytes of a member. Postgres has no row of more than 1 GB, and Herald's limits
	// allow none above a few MB.
	mostMember = 64 << 20
)

// Header is what a backup is of.
type Header struct {
	Format int       `json:"format"`
	Herald string    `json:"herald"`
	Taken  time.Time `json:"taken"`
	// MasterKeys are the ids of the master keys, of which the first one seals secrets.
	MasterKeys []string `json:"masterKeys"`
	// Wrapped is the master keys, sealed with a passphrase, or nil.
	Wrapped  *Wrapped  `json:"wrapped,omitempty"`
	Services []Service `json:"services"`
}

// Service is the database of a service.
type Service struct {
	Name string `json:"name"`
	// Events and Schema are the versions of the tables of events and of the others.
	Events int32 `json:"events"`
	Schema int32 `json:"schema"`
	// Position is that of the newest event.
	Position int64 `json:"position"`
	// Tables are in an order in which rows refer only to rows of earlier tables.
	Tables []Table `json:"tables"`
}

// Table has the columns that are written, in their order.
type Table struct {
	Name    string   `json:"name"`
	Columns []string `json:"columns"`
}

// End is the number of rows and a digest of each table, by service and table, such as users/users.
type End struct {
	Tables map[string]Sum `json:"tables"`
}

// Rows returns the number of all rows.
func (e End) Rows() (n int64) {
	for _, s := range e.Tables {
		n += s.Rows
	}
	return n
}

// archive writes members. Several goroutines can use it.
type archive struct {
	mu  sync.Mutex
	out *tar.Writer
	at  time.Time
}

func (a *archive) add(name string, text []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	head := tar.Header{Name: name, Mode: 0o600, Size: int64(len(text)), ModTime: a.at, Typeflag: tar.TypeReg}
	if err := a.out.WriteHeader(&head); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	return nil
}

func (a *archive) addJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return a.add(name, append(text, '\n'))
}

// errNoBackup is returned for a file of another kind.
var errNoBackup = errors.New("this is no backup of Herald")

// Reader reads a backup.
type Reader struct {
	Header Header
	in     *tar.Reader
	end    *End
}

// Open reads the header of a backup.
func Open(in io.Reader) (*Reader, error) {
	r := &Reader{in: tar.NewReader(in)}
	head, err := r.in.Next()
	if err != nil || head.Name != headerName {
		return nil, errNoBackup
	}
	if err := readJSON(r.in, &r.Header); err != nil {
		return nil, err
	}
	if r.Header.Format != format {
		return nil, fmt.Errorf("the backup has the format %d, and this Herald reads %d: use that which wrote it, %s",
			r.Header.Format, format, r.Header.Herald)
	}
	return r, nil
}

func readJSON(in io.Reader, value any) error {
	text, err := io.ReadAll(io.LimitReader(in, mostJSON+1))
	if err != nil {
		return fmt.Errorf("read the backup: %w", err)
	}
	if len(text) > mostJSON || json.Unmarshal(text, value) != nil {
		return errNoBackup
	}
	return nil
}

// rows is a member with rows of a table.
type rows struct {
	service, table string
	compressed     []byte
}

// next returns the next rows, or io.EOF after the last ones. End is known then.
func (r *Reader) next() (rows, error) {
	head, err := r.in.Next()
	if err == nil && head.Name == endName {
		r.end = &End{}
		if err := readJSON(r.in, r.end); err != nil {
			return rows{}, err
		}
		return rows{}, io.EOF
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return rows{}, errors.New("the backup is not complete: its end is missing")
	}
	if err != nil {
		return rows{}, fmt.Errorf("read the backup: %w", err)
	}
	parts := strings.Split(head.Name, "/")
	if len(parts) != 3 || head.Size > mostMember {
		return rows{}, errNoBackup
	}
	text, err := io.ReadAll(r.in)
	if err != nil {
		return rows{}, fmt.Errorf("the backup is not complete: %w", err)
	}
	return rows{parts[0], parts[1], text}, nil
}

// inflate returns a reader of rows.
func (m rows) inflate() (io.Reader, error) {
	in, err := gzip.NewReader(bytes.NewReader(m.compressed))
	if err != nil {
		return nil, fmt.Errorf("read the backup: %w", err)
	}
	return io.LimitReader(in, mostMember), nil
}
