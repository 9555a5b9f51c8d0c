package connect

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	"herald/gateway/internal/dispatch"
	"herald/gateway/transcode"
)

// frame is an encoded message. err is set if a request could not be decoded.
type frame struct {
	data []byte
	err  error
}

// frames is the codec that leaves messages encoded. Connect uses it for error details too,
// and these are real messages.
type frames struct{}

func (frames) Name() string { return "proto" }

func (frames) Marshal(v any) ([]byte, error) {
	if f, ok := v.(*frame); ok {
		return f.data, nil
	}
	return proto.Marshal(v.(proto.Message))
}

func (frames) Unmarshal(b []byte, v any) error {
	v.(*frame).data = bytes.Clone(b) // connect uses b again
	return nil
}

// jsonFrames is the codec of Connect with JSON, for one method.
type jsonFrames struct {
	*dispatch.Method
	name string
}

func (c jsonFrames) Name() string { return c.name }

func (c jsonFrames) Marshal(v any) ([]byte, error) {
	out, data := c.Out.New().Interface(), v.(*frame).data
	if err := proto.Unmarshal(data, out); err != nil {
		return nil, err
	}
	return transcode.Encode(make([]byte, 0, 3*len(data)), out)
}

func (c jsonFrames) Unmarshal(b []byte, v any) error {
	in, f := c.In.New().Interface(), v.(*frame)
	if f.err = transcode.Decode(b, in); f.err == nil {
		f.data, f.err = proto.Marshal(in)
	}
	return nil
}
