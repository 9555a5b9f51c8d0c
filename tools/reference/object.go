package main

import (
	"bytes"
	"encoding/json"
)

// member is a name and a value of a JSON object.
type member struct {
	name  string
	value any
}

// object is a JSON object whose members keep their order, which is that of the contracts.
type object []member

// with returns the object with one more member.
func (o object) with(name string, value any) object { return append(o, member{name, value}) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for _, v := range []any{m.name, m.value} {
			text, err := marshal(v, "")
			if err != nil {
				return nil, err
			}
			b.Write(bytes.TrimSpace(text))
			b.WriteByte(':')
		}
		b.Truncate(b.Len() - 1)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshal returns JSON without escapes of <, > and &.
func marshal(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(v)
	return b.Bytes(), err
}
