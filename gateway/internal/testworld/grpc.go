package testworld

import (
	"encoding/base64"
	"encoding/binary"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"
)

// GetUser is the procedure that tests call over gRPC, gRPC-Web and Connect.
const GetUser = "/herald.users.v1.Users/GetUser"

// Dial connects grpc-go to the gateway.
func (w *World) Dial(t testing.TB) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(strings.TrimPrefix(w.URL, "http://"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Frames returns the frames of a gRPC-Web answer: flags and content.
func Frames(body []byte) iter.Seq2[byte, []byte] {
	return func(yield func(byte, []byte) bool) {
		for len(body) > 0 {
			flags, part := body[0], body[5:5+binary.BigEndian.Uint32(body[1:5])]
			if body = body[5+len(part):]; !yield(flags, part) {
				return
			}
		}
	}
}

// WebTrailer returns the trailer of a gRPC-Web answer, from its headers or its body.
func WebTrailer(t testing.TB, got Answer) http.Header {
	t.Helper()
	trailer := got.Header.Clone()
	for flags, part := range Frames(got.Text) {
		if flags&0x80 == 0 {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSpace(string(part)), "\r\n") {
			name, value, _ := strings.Cut(line, ":")
			trailer.Set(name, strings.TrimSpace(value))
		}
	}
	return trailer
}

// Framed returns a message as one frame of gRPC.
func Framed(data []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(data))), data...)
}

// TrailerStatus reads the status from the trailers of gRPC.
func TrailerStatus(t testing.TB, h http.Header) *statuspb.Status {
	t.Helper()
	code, err := strconv.Atoi(h.Get("Grpc-Status"))
	if err != nil {
		t.Fatalf("no status in %v", h)
	}
	message, _ := url.PathUnescape(h.Get("Grpc-Message"))
	s := &statuspb.Status{Code: int32(code), Message: message}
	if bin := h.Get("Grpc-Status-Details-Bin"); bin != "" {
		data, err := base64.RawStdEncoding.DecodeString(bin)
		if err != nil {
			t.Fatal(err)
		}
		var full statuspb.Status
		if err := proto.Unmarshal(data, &full); err != nil {
			t.Fatal(err)
		}
		if full.Code != s.Code || full.Message != s.Message {
			t.Errorf("details say %d %q, trailers %d %q", full.Code, full.Message, s.Code, s.Message)
		}
		s = &full
	}
	return s
}
