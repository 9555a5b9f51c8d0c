package imports

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"syscall"

	"herald/shared/gen/fault/gatewayfault"
)

// inMemory is the part of a Spool that is in memory, in bytes.
const inMemory = 256 << 10

// Place is where the Spools of an import write. The zero Place is the system's folder of temporary files, without a
// quota.
type Place struct {
	// Folder is the folder of temporary files. If it is empty, the system's own is used.
	Folder string
	// Count counts bytes on the disk, or takes them off if n is negative. It returns an error if there would be too
	// many.
	// It may be nil.
	Count func(n int64) error
}

func (p Place) count(n int64) error {
	if p.Count == nil || n == 0 {
		return nil
	}
	return p.Count(n)
}

// Spool stores bytes. The first ones are in memory, the others in a file without a name, which the system removes when
// the process ends. The zero Spool is empty.
type Spool struct {
	memory bytes.Buffer
	file   *os.File
	writer *bufio.Writer
	size   int64
	// place is where onDisk bytes were counted.
	place  Place
	onDisk int64
}

// write appends bytes. It creates the file when the memory is full.
func (s *Spool) write(place Place, b []byte) error {
	s.size += int64(len(b))
	if s.file == nil && s.memory.Len()+len(b) <= inMemory {
		s.memory.Write(b)
		return nil
	}
	if err := place.count(int64(len(b))); err != nil {
		return err
	}
	s.place, s.onDisk = place, s.onDisk+int64(len(b))
	if s.file == nil {
		file, err := os.CreateTemp(place.Folder, "herald-import-*")
		if err != nil {
			return noRoom(err)
		}
		s.file, s.writer = file, bufio.NewWriter(file)
		if err := os.Remove(file.Name()); err != nil {
			return err
		}
	}
	_, err := s.writer.Write(b)
	return noRoom(err)
}

func noRoom(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return gatewayfault.ErrImportDiskFull.Because(err)
	}
	return err
}

// reader returns a reader of everything that was written.
func (s *Spool) reader() (io.Reader, error) {
	if s.file == nil {
		return bytes.NewReader(s.memory.Bytes()), nil
	}
	if err := s.writer.Flush(); err != nil {
		return nil, noRoom(err)
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	return io.MultiReader(bytes.NewReader(s.memory.Bytes()), bufio.NewReader(s.file)), nil
}

// close removes everything that was written.
func (s *Spool) close() {
	if s.file != nil {
		s.file.Close()
	}
	_ = s.place.count(-s.onDisk)
	*s = Spool{}
}

// put appends a user.
func (s *Spool) put(place Place, machine bool, text []byte) error {
	head := binary.AppendUvarint(nil, uint64(len(text)))
	kind := byte(0)
	if machine {
		kind = 1
	}
	if err := s.write(place, append([]byte{kind}, head...)); err != nil {
		return err
	}
	return s.write(place, text)
}

// each calls do with every user that was appended, and then removes them.
func (s *Spool) each(do func(machine bool, text []byte) error) error {
	defer s.close()
	all, err := s.reader()
	if err != nil {
		return err
	}
	r := bufio.NewReader(all)
	for {
		kind, err := r.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		n, err := binary.ReadUvarint(r)
		if err != nil {
			return err
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(r, text); err != nil {
			return err
		}
		if n == 0 {
			text = nil
		}
		if err := do(kind == 1, text); err != nil {
			return err
		}
	}
}

// spooled is an io.Writer that appends to a Spool.
type spooled struct {
	*Spool
	place Place
}

// Write implements io.Writer.
func (s spooled) Write(b []byte) (int, error) { return len(b), s.write(s.place, b) }

func bytesOf(text string) io.Reader { return bytes.NewReader([]byte(text)) }
