package gateway

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/gateway/authn"
	"herald/gateway/imports"
	"herald/shared/contract"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/rpc"
)

const (
	// streamTime is the time that a streamed request can take if it has no timeout of its own.
	streamTime = time.Hour
	// streamPause is how long its client can send or read nothing.
	streamPause = 30 * time.Second
)

// mountStream returns the handler of a REST path whose body can have any size. Only imports have
// such a path.
func (e *edge) mountStream(d contract.Method, m *method) (handler, error) {
	check := false
	switch m.out.New().Interface().(type) {
	case *usersv1.ImportResponse:
	case *usersv1.CheckImportResponse:
		check = true
	default:
		return nil, fmt.Errorf("herald.v1.streamed: nobody streams %s", d.Output().FullName())
	}
	if _, ok := m.in.New().Interface().(*usersv1.ImportRequest); !ok {
		return nil, fmt.Errorf("herald.v1.streamed: nobody streams %s", d.Input().FullName())
	}
	return func(x *exchange, r *http.Request) {
		if err := e.stream(x, r, m, check); err != nil {
			_ = http.NewResponseController(x).SetWriteDeadline(time.Now().Add(streamPause))
			x.fail(r, err)
		}
	}, nil
}

// stream imports a body and writes the answer. It returns an error if nothing was imported.
func (e *edge) stream(x *exchange, r *http.Request, m *method, check bool) error {
	if err := e.authenticate(x, r, m); err != nil {
		return err
	}
	call := e.streamCall(r, m)
	p, err := e.place(x.pass, m, call)
	if err != nil {
		return err
	}
	defer p.leave()
	control := http.NewResponseController(x)
	ctx, cancel := context.WithCancelCause(x.untimed)
	defer cancel(nil)
	timer := time.AfterFunc(streamTime, func() { cancel(imports.ErrTimedOut) })
	defer timer.Stop()
	defer context.AfterFunc(e.stopping, func() { cancel(imports.ErrInterrupted) })()
	watchClient(ctx, r, func() { cancel(imports.ErrAbandoned) })
	body := &imports.Body{
		Timeout: func(d time.Duration) { timer.Reset(time.Until(x.began.Add(d))) },
	}
	from, err := e.streamBody(ctx, x, r, body)
	if err != nil {
		return err
	}
	i := imports.Import{Check: check, Call: call}
	answer, err := i.Run(ctx, func(row func(imports.Row) error) error {
		body.Row = func(r imports.Row) error {
			if err := p.take(ctx, r.OrgID); err != nil {
				return err
			}
			return row(r)
		}
		return body.Read(&entrance{place: p, ctx: r.Context(), from: from})
	})
	if err != nil {
		return err
	}
	defer answer.Close()
	if answer.Ended != nil {
		e.log.WarnContext(ctx, "an import ended early: send it again for the rest, the imported users stay as they are",
			"fault", answer.Ended.ID, "imported", answer.Imported, "refused", answer.Refused)
		defer x.drain(r)
	}
	text, err := answer.Reader()
	if err != nil {
		return err
	}
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(http.StatusOK)
	if _, err := io.Copy(unhurried{x, control}, text); err != nil {
		e.log.InfoContext(ctx, "the answer of an import was not read", "err", err)
		panic(http.ErrAbortHandler) // so that the client does not take half an answer for a whole one
	}
	return nil
}

// importCall sends a request of an import for one organization.
type importCall func(ctx context.Context, organization string, r *usersv1.ImportRequest) (proto.Message, error)

// place returns the place of an import. It is already taken if the caller has the permission in the
// own organization. Otherwise the first organization of the body decides.
func (e *edge) place(pass authn.Pass, m *method, call importCall) (*place, error) {
	p := &place{
		begin: func() (func(), error) { return e.streams.begin(pass) },
		ask: func(ctx context.Context, organization string) error {
			r := &usersv1.ImportRequest{}
			if organization != "" {
				r.DataOrgs = &usersv1.ImportData{Orgs: []*usersv1.ImportOrg{{OrgId: organization}}}
			}
			_, err := call(ctx, organization, r)
			return err
		},
	}
	if !pass.Holds(m.permission) {
		return p, nil
	}
	var err error
	p.end, err = p.begin()
	return p, err
}

// streamCall returns a function that sends a request of an import. It authenticates the caller
// again each time, in the request's organization.
func (e *edge) streamCall(r *http.Request, m *method) importCall {
	return func(ctx context.Context, organization string, request *usersv1.ImportRequest) (proto.Message, error) {
		pass, err := e.callers.In(e.clientLine(ctx, r), r.Header, organization)
		if err != nil {
			return nil, err
		}
		data, err := proto.Marshal(request)
		if err != nil {
			return nil, err
		}
		var answer rpc.Answer
		if busy := e.inTurn(ctx, pass, func() { answer, err = e.call(ctx, m, pass, data) }); busy != nil {
			return nil, busy
		}
		if err != nil {
			return nil, err
		}
		response := m.out.New().Interface()
		return response, proto.Unmarshal(answer.Data, response)
	}
}

// streamBody returns the request's uncompressed body, and sets how it is read.
func (e *edge) streamBody(ctx context.Context, x *exchange, r *http.Request, b *imports.Body) (io.Reader, error) {
	var from io.Reader = patient{ctx, r.Body, http.NewResponseController(x)}
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		packed := &counted{Reader: from}
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			return nil, imports.ErrBrokenOff.Say("The body is not compressed with gzip").Because(err)
		}
		from = &inflated{counted{Reader: unpacked}, packed}
	default:
		return nil, ErrStreamType
	}
	switch t := mediaType(r); {
	case t == "application/x-ndjson", t == "application/ndjson", t == "application/jsonl":
		b.Lines = true
	case t == "", t == "application/json", strings.HasSuffix(t, "+json"):
	default:
		return nil, ErrStreamType
	}
	return from, nil
}

// ErrStreamType is returned for a body of another media type or encoding.
var ErrStreamType = ErrMediaType.Say("The body must be application/json or application/x-ndjson, " +
	"with Content-Encoding gzip or none")

// counted counts what is read.
type counted struct {
	io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += int64(n)
	return n, err
}

// inflated reads an uncompressed body. It stops where no users can have been compressed as much: a
// few KiB of gzip can be work for an hour.
type inflated struct {
	counted
	packed *counted
}

// maxInflation is how much larger a body can be than it was compressed, beyond its first MiB.
// Users with hashes of their own are compressed about 4 times.
const maxInflation = 100

// Read implements io.Reader.
func (i *inflated) Read(b []byte) (int, error) {
	if i.n > 1<<20+maxInflation*i.packed.n {
		return 0, imports.ErrBrokenOff.Say("The body is compressed more than %d times, which users cannot be",
			maxInflation)
	}
	return i.counted.Read(b)
}

// patient reads a body whose client can take a long time, but not pause for long.
type patient struct {
	ctx     context.Context
	body    io.Reader
	control *http.ResponseController
}

// Read implements io.Reader. It returns at the end of the context too.
func (p patient) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(streamPause)) // replaces the server's limit
	if err := context.Cause(p.ctx); err != nil {
		return 0, err
	}
	woken := make(chan struct{})
	forget := context.AfterFunc(p.ctx, func() {
		_ = p.control.SetReadDeadline(time.Unix(1, 0))
		close(woken)
	})
	n, err := p.body.Read(b)
	if !forget() {
		<-woken // the deadline must not be set later, when there may be another request
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = context.Cause(p.ctx)
		}
	}
	if errors.Is(err, io.EOF) {
		_ = p.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// unhurried writes to a client that can take a long time, but not pause for long.
type unhurried struct {
	w       io.Writer
	control *http.ResponseController
}

// Write implements io.Writer.
func (u unhurried) Write(b []byte) (int, error) {
	_ = u.control.SetWriteDeadline(time.Now().Add(streamPause)) // replaces the server's limit
	return u.w.Write(b)
}
