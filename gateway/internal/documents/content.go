package documents

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"io/fs"
	"strings"
	"sync"

	"herald/docs"
)

// small is the size below which a file is not compressed.
const small = 1 << 10

// content is a document's bytes. The plain and the compressed form are made once, when they are first needed, and
// shared by all answers. The tag is weak, because it is the same for both.
type content struct {
	plain func() ([]byte, error)
	// zipped is nil for a document that is never compressed.
	zipped func() ([]byte, error)
	size   int // of the plain bytes
	tag    string
}

// newContent returns the content of a document. It can be compressed unless it is small.
func newContent(data []byte) content {
	c := content{plain: kept(data), size: len(data), tag: tagOf(data)}
	if len(data) >= small {
		c.zipped = sync.OnceValues(func() ([]byte, error) { return compress(data) })
	}
	return c
}

// unpacked returns the content of a document that is stored compressed.
func unpacked(data []byte) content {
	return content{
		plain:  sync.OnceValues(func() ([]byte, error) { return decompress(data) }),
		zipped: kept(data), tag: tagOf(data),
		size: int(binary.LittleEndian.Uint32(data[len(data)-4:])), // RFC 1952, section 2.3.1
	}
}

func kept(data []byte) func() ([]byte, error) { return func() ([]byte, error) { return data, nil } }

func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

func decompress(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// file returns a function that loads a file, plain or compressed. It replaces the address in examples by the address
// at.
func file(from fs.FS, name string, at []byte) func() (content, error) {
	return func() (content, error) {
		data, err := fs.ReadFile(from, name)
		if err != nil {
			return content{}, err
		}
		if strings.HasSuffix(name, ".js.gz") {
			return unpacked(data), nil
		}
		if strings.HasSuffix(name, ".gz") { // decompress, because it contains the address
			if data, err = decompress(data); err != nil {
				return content{}, err
			}
		}
		return newContent(bytes.ReplaceAll(data, []byte(docs.PublicURL), at)), nil
	}
}

// archive returns the files of an archive in docs, and its bytes.
func archive(name string) (*zip.Reader, []byte, error) {
	data, err := docs.Files.ReadFile(name)
	if err != nil {
		return nil, nil, err
	}
	all, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	return all, data, err
}

// addProtos lists the archive of the public contracts, the protos that they import, and the licences of these. Each of
// its files is listed too.
func (l Library) addProtos() error {
	all, data, err := archive("protos.zip")
	if err != nil {
		return err
	}
	l.add("/docs/protos.zip", closed, func() (content, error) {
		return content{plain: kept(data), size: len(data), tag: tagOf(data)}, nil
	})
	for _, f := range all.File {
		l.add("/docs/protos/"+f.Name, closed, func() (content, error) {
			data, err := fs.ReadFile(all, f.Name)
			return newContent(data), err
		})
	}
	return nil
}
