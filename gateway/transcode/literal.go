package transcode

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var (
	full    = protojson.MarshalOptions{EmitDefaultValues: true}
	errUTF8 = errors.New("a string of the answer is not UTF-8")
)

func (w *writer) text(s string) {
	w.out = append(w.out, '"')
	start, ascii := 0, true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c == '"' || c == '\\':
			w.out = append(w.out, s[start:i]...)
			w.escape(c)
			start = i + 1
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && !utf8.ValidString(s) {
		w.fail(errUTF8)
	}
	w.out = append(append(w.out, s[start:]...), '"')
}

func (w *writer) escape(c byte) {
	if i := strings.IndexByte("\"\\\b\f\n\r\t", c); i >= 0 {
		w.out = append(w.out, '\\', `"\bfnrt`[i])
		return
	}
	const digits = "0123456789abcdef"
	w.out = append(w.out, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

// float writes a number with encoding/json. Contracts use few of them, so it need not be fast.
func (w *writer) float(v protoreflect.Value) {
	switch f := v.Float(); {
	case math.IsNaN(f):
		w.text("NaN")
	case math.IsInf(f, 1):
		w.text("Infinity")
	case math.IsInf(f, -1):
		w.text("-Infinity")
	default:
		number, err := json.Marshal(v.Interface()) // a float32 has fewer digits than a float64
		w.fail(err)
		w.out = append(w.out, number...)
	}
}

// special writes timestamps and durations, which most answers have, itself and other messages
// with protojson.
func (w *writer) special(m proto.Message) {
	switch m := m.(type) {
	case *timestamppb.Timestamp:
		w.timestamp(m)
	case *durationpb.Duration:
		w.duration(m)
	default:
		text, err := full.Marshal(m)
		w.fail(err)
		w.compact(text)
	}
}

// compact removes white space, which protojson varies from build to build.
func (w *writer) compact(text []byte) {
	out := bytes.NewBuffer(w.out)
	w.fail(json.Compact(out, text))
	w.out = out.Bytes()
}

func (w *writer) timestamp(t *timestamppb.Timestamp) {
	if err := t.CheckValid(); err != nil {
		w.fail(err)
		return
	}
	w.out = time.Unix(t.Seconds, 0).UTC().AppendFormat(append(w.out, '"'), time.RFC3339)
	w.out = w.out[:len(w.out)-1] // the Z, which comes after the fraction
	w.fraction(t.Nanos)
	w.out = append(w.out, `Z"`...)
}

func (w *writer) duration(d *durationpb.Duration) {
	if err := d.CheckValid(); err != nil {
		w.fail(err)
		return
	}
	w.out = append(w.out, '"')
	if d.Seconds < 0 || d.Nanos < 0 {
		w.out = append(w.out, '-')
	}
	w.out = strconv.AppendInt(w.out, max(d.Seconds, -d.Seconds), 10)
	w.fraction(max(d.Nanos, -d.Nanos))
	w.out = append(w.out, `s"`...)
}

// fraction writes a part of a second in 0, 3, 6 or 9 digits.
func (w *writer) fraction(nanos int32) {
	if nanos == 0 {
		return
	}
	digits := 9
	for ; nanos%1000 == 0; nanos /= 1000 {
		digits -= 3
	}
	w.out = append(w.out, ".000000000"[:1+digits]...)
	for i := len(w.out) - 1; nanos > 0; i-- {
		w.out[i] += byte(nanos % 10)
		nanos /= 10
	}
}
