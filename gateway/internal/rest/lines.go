package rest

import (
	"bytes"
	"net/http"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/gateway/internal/exchange"
	"herald/gateway/transcode"
)

// ndjson is the media type of an answer with one JSON object per line.
const ndjson = "application/x-ndjson"

// following holds the fields of a search whose pages follow each other: each result has its position in the list, and a
// request says after which one its page begins.
type following struct{ after, result, position protoreflect.FieldDescriptor }

// followingOf returns the fields of a method, or nil if its pages are numbered.
func followingOf(in, out protoreflect.MessageDescriptor) *following {
	f := following{after: in.Fields().ByName("after"), result: out.Fields().ByName("result")}
	if f.after == nil || f.result == nil || !f.result.IsList() {
		return nil
	}
	f.position = f.result.Message().Fields().ByName("position")
	return &f
}

// serveLines answers a search with all of its results. It reads one page after another while the client reads, each
// with the permissions that the caller has then.
func (b *binding) serveLines(x *exchange.Exchange, r *http.Request) {
	body, err := b.readBody(x, r)
	if err != nil {
		x.Fail(r, err)
		return
	}
	request, err := b.message(body, r)
	if err != nil {
		x.Fail(r, err)
		return
	}
	for begun := false; ; begun = true {
		if begun {
			err = b.Authenticate(x, r, b.Method) // the first page has the caller whom readBody found
		}
		var lines []byte
		var last string
		if err == nil {
			lines, last, err = b.lines(x, request)
		}
		switch {
		case err != nil && !begun:
			x.Fail(r, err)
			return
		case err != nil:
			_ = x.Refuse(err)           // keeps it for the log
			panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
		case !begun:
			x.Header().Set("Content-Type", ndjson)
			x.WriteHeader(http.StatusOK)
		}
		if last == "" {
			return
		}
		x.AwaitReader()
		if _, err := x.Write(lines); err != nil {
			panic(http.ErrAbortHandler) // the client has closed the connection, or reads nothing
		}
		x.Flush()
		request.Set(b.following.after, protoreflect.ValueOfString(last))
	}
}

// lines reads a page. It returns its results as lines, and the position of the last one, which is empty at the end.
func (b *binding) lines(
	x *exchange.Exchange, request protoreflect.Message,
) (lines []byte, last string, err error) {
	data, err := proto.Marshal(request.Interface())
	if err != nil {
		return nil, "", err
	}
	answer, err := b.CallInTurn(x.Untimed, b.Method, x.Pass, data)
	if err != nil {
		return nil, "", err
	}
	page := b.Out.New()
	if err := proto.Unmarshal(answer.Data, page.Interface()); err != nil {
		return nil, "", err
	}
	var text bytes.Buffer
	results := page.Get(b.following.result).List()
	for i := range results.Len() {
		result := results.Get(i).Message()
		line, err := transcode.Encode(nil, result.Interface())
		if err != nil {
			return nil, "", err
		}
		text.Write(line)
		text.WriteByte('\n')
		last = result.Get(b.following.position).String()
	}
	return text.Bytes(), last, nil
}
