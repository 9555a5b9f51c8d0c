package documents

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"strings"

	"herald/docs"
	"herald/shared/proto"
)

// small is the size below which a file is not compressed.
const small = 1 << 10

// content is a document's bytes: plain, compressed or both. The tag is weak, because it is the
// same for both.
type content struct {
	plain, zipped []byte
	tag           string
}

func newContent(data []byte) (content, error) {
	c := content{plain: data, tag: tagOf(data)}
	if len(data) < small {
		return c, nil
	}
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(data)
	if err == nil {
		err = w.Close()
	}
	c.zipped = b.Bytes()
	return c, err
}

func tagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `W/"` + hex.EncodeToString(sum[:12]) + `"`
}

// written is the address in the examples of the generated documents.
const written = "http://localhost:8080"

// file returns a function that loads a file of docs, plain or compressed. Examples have the address at.
func file(name string, at []byte) func() (content, error) {
	return func() (content, error) {
		data, err := docs.Files.ReadFile(name)
		if err != nil {
			return content{}, err
		}
		if !strings.HasSuffix(name, ".gz") {
			data = bytes.ReplaceAll(data, []byte(written), at)
		}
		if strings.HasSuffix(name, ".gz") {
			return content{zipped: data, tag: tagOf(data)}, nil
		}
		return newContent(data)
	}
}

// contract returns a function that loads a proto.
func contract(name string) func() (content, error) {
	return func() (content, error) {
		data, err := proto.Files.ReadFile(name)
		if err != nil {
			return content{}, err
		}
		return newContent(data)
	}
}

// protos lists the contracts, the protos that they import, and the licences of these.
func protos() ([]string, error) {
	var names []string
	err := fs.WalkDir(proto.Files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	return names, err
}

// archive makes a zip file of all protos, with the same bytes each time.
func archive() (content, error) {
	names, err := protos()
	if err != nil {
		return content{}, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		data, err := proto.Files.ReadFile(name)
		if err != nil {
			return content{}, err
		}
		w, err := z.Create(name) // without a time: the bytes stay the same
		if err != nil {
			return content{}, err
		}
		if _, err := w.Write(data); err != nil {
			return content{}, err
		}
	}
	err = z.Close()
	return content{plain: b.Bytes(), tag: tagOf(b.Bytes())}, err
}

// body returns the bytes for a client that accepts gzip or not, and whether they are compressed.
func (c content) body(gzipped bool) (data []byte, zipped bool, err error) {
	switch {
	case gzipped && c.zipped != nil:
		return c.zipped, true, nil
	case c.plain != nil:
		return c.plain, false, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(c.zipped))
	if err != nil {
		return nil, false, err
	}
	data, err = io.ReadAll(r)
	return data, false, err
}
