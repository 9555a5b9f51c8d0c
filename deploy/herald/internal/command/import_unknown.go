package command

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/gateway/transcode"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// unknownField is a field that an import does not know, such as a misspelled one. The elements of a list have the same
// path.
type unknownField struct {
	path string
	// line is that of the first one.
	line, times int
}

// unknown returns the fields that an import does not know, in the order of the file. It stops at the first text that is
// not JSON, because the answer names it.
func (f *importFile) unknown() ([]*unknownField, error) {
	text, err := f.text()
	if err != nil {
		return nil, err
	}
	found := map[string]*unknownField{}
	if f.lines {
		unknownInLines(found, bufio.NewReaderSize(text, 1<<20))
	} else {
		findUnknown(found, &lineReader{Reader: text, line: 1}, &usersv1.ImportRequest{})
	}
	_, err = f.Seek(0, io.SeekStart)
	return slices.SortedFunc(maps.Values(found), func(a, b *unknownField) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.path, b.path))
	}), err
}

// refuseUnknown prints the fields that an import does not know, and returns an error that says what to do. With
// --ignore-unknown they are only warnings of a check.
func (f *importFlags) refuseUnknown(file *importFile, terminal io.Writer) error {
	if f.ignoreUnknown && !f.check {
		return nil
	}
	all, err := file.unknown()
	if len(all) == 0 || err != nil {
		return err
	}
	about, ends := line(file.name)+": ", "unknown"
	if f.ignoreUnknown {
		about, ends = "warning: ", "unknown and ignored"
	}
	for _, u := range all[:min(len(all), mostPrinted)] {
		fmt.Fprintln(terminal, folded(about+line(fmt.Sprintf("line %d: %s is %s (%s in the file)", u.line, u.path, ends,
			count(u.times, "time"))), terminal))
	}
	if more := len(all) - mostPrinted; more > 0 {
		fmt.Fprintf(terminal, "%s%s more are unknown\n", about, count(more, "field"))
	}
	if f.ignoreUnknown {
		return nil
	}
	return fmt.Errorf("%s is refused, because it has unknown fields: correct them (see docs/moving-in.md), or "+
		"import the rest with --ignore-unknown", line(file.name))
}

func unknownInLines(found map[string]*unknownField, from *bufio.Reader) {
	for line := 1; ; line++ {
		text, err := from.ReadSlice('\n')
		findUnknown(found, &lineReader{Reader: bytes.NewReader(text), line: line}, &usersv1.ImportOrg{},
			&usersv1.ImportHumanUserRow{})
		for errors.Is(err, bufio.ErrBufferFull) { // the answer has named the user, who is too large
			_, err = from.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// findUnknown reads a JSON object, which may have the fields of all the messages.
func findUnknown(found map[string]*unknownField, from *lineReader, of ...proto.Message) {
	u := unknownFinder{found, from, json.NewDecoder(from)}
	var all []protoreflect.MessageDescriptor
	for _, m := range of {
		all = append(all, m.ProtoReflect().Descriptor())
	}
	_ = u.value("", 0, all)
}

type unknownFinder struct {
	found map[string]*unknownField
	from  *lineReader
	*json.Decoder
}

// value reads a value of any of the messages. All fields of a value of none are known.
func (u *unknownFinder) value(path string, depth int, of []protoreflect.MessageDescriptor) error {
	begin, err := u.Token()
	if err != nil || begin != json.Delim('{') && begin != json.Delim('[') {
		return err
	}
	if depth > transcode.MaxDepth {
		return gatewayfault.ErrJSONMalformed
	}
	for u.More() {
		inner, at := of, path
		if begin == json.Delim('{') {
			name, err := u.Token()
			if err != nil {
				return err
			}
			inner, at = u.field(path, fmt.Sprint(name), of)
		}
		if err := u.value(at, depth+1, inner); err != nil {
			return err
		}
	}
	_, err = u.Token()
	return err
}

// field returns the messages and the path of a field.
func (u *unknownFinder) field(
	path, name string, of []protoreflect.MessageDescriptor,
) (inner []protoreflect.MessageDescriptor, at string) {
	at = strings.TrimPrefix(path+"."+name, ".")
	line := u.from.at(u.InputOffset())
	known := len(of) == 0
	for _, m := range of {
		f := cmp.Or(m.Fields().ByJSONName(name), m.Fields().ByName(protoreflect.Name(name)))
		known = known || f != nil
		if f != nil && f.Message() != nil && f.Message().ParentFile().Package() != "google.protobuf" {
			inner = append(inner, f.Message())
		}
	}
	switch first := u.found[at]; {
	case known:
	case first != nil:
		first.times++
	default:
		u.found[at] = &unknownField{path: at, line: line, times: 1}
	}
	return inner, at
}

// lineReader counts the lines up to an offset.
type lineReader struct {
	io.Reader
	// line is the line of the last offset, and ends are the offsets of the line ends that were read after it.
	line int
	ends []int64
	read int64
}

// Read implements io.Reader.
func (l *lineReader) Read(b []byte) (int, error) {
	n, err := l.Reader.Read(b)
	for i, c := range b[:n] {
		if c == '\n' {
			l.ends = append(l.ends, l.read+int64(i))
		}
	}
	l.read += int64(n)
	return n, err
}

// at returns the line of an offset, which is not before that of the last call.
func (l *lineReader) at(offset int64) int {
	for len(l.ends) > 0 && l.ends[0] < offset {
		l.ends = l.ends[1:]
		l.line++
	}
	return l.line
}
