// Package upload serves the REST paths whose body can have any size: the bulk import of users. The body is read
// while its users are imported, and the answer is written while it is read.
package upload

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/gateway/imports"
	"herald/gateway/internal/dispatch"
	"herald/gateway/internal/exchange"
	"herald/shared/contract"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/quota"
)

// totalLimit is the time that an upload can take if its body does not begin with a timeout of its own.
const totalLimit = time.Hour

// Uploads serves uploads. It is safe for concurrent use.
type Uploads struct {
	*dispatch.Dispatcher
	log *slog.Logger
	// stopping ends when the gateway begins to stop.
	stopping context.Context
	slots    streamSlots
	bytes    spooledBytes
}

// New returns Uploads that end their imports early when stopping ends. bytes is the quota of bytes on the disk.
func New(stopping context.Context, d *dispatch.Dispatcher, log *slog.Logger, bytes quota.Quota) *Uploads {
	return &Uploads{Dispatcher: d, log: log, stopping: stopping, bytes: spooledBytes{most: bytes}}
}

// Handler returns the handler of a streamed method, which must be an import or the check of one.
func (u *Uploads) Handler(d contract.Method, m *dispatch.Method) (exchange.Handler, error) {
	check := false
	switch m.Out.New().Interface().(type) {
	case *usersv1.ImportResponse:
	case *usersv1.CheckImportResponse:
		check = true
	default:
		return nil, fmt.Errorf("herald.v1.streamed: an answer %s cannot be streamed", d.Output().FullName())
	}
	if _, ok := m.In.New().Interface().(*usersv1.ImportRequest); !ok {
		return nil, fmt.Errorf("herald.v1.streamed: a request %s cannot be streamed", d.Input().FullName())
	}
	return func(x *exchange.Exchange, r *http.Request) {
		if err := u.serve(x, r, m, check); err != nil {
			x.AwaitReader()
			x.Fail(r, err)
		}
	}, nil
}

// serve imports a body and writes the answer. It returns an error if nothing was imported.
func (u *Uploads) serve(x *exchange.Exchange, r *http.Request, m *dispatch.Method, check bool) error {
	if err := u.Authenticate(x, r, m); err != nil {
		return err
	}
	call := u.call(x, r, m)
	s, err := u.slot(x.Pass, m, call)
	if err != nil {
		return err
	}
	defer s.release()
	ctx, cancel := context.WithCancelCause(x.Untimed)
	defer cancel(nil)
	timer := time.AfterFunc(totalLimit, func() { cancel(gatewayfault.ErrImportTimedOut) })
	defer timer.Stop()
	defer context.AfterFunc(u.stopping, func() { cancel(gatewayfault.ErrImportInterrupted) })()
	watchClient(ctx, x.Conn, func() { cancel(gatewayfault.ErrImportAbandoned) })
	body := &imports.Body{
		Place:   u.bytes.place(x.Pass),
		Timeout: func(d time.Duration) { timer.Reset(time.Until(x.Began.Add(d))) },
	}
	from, err := open(ctx, x, r, body)
	if err != nil {
		return err
	}
	i := imports.Import{Check: check, Call: call, Place: body.Place}
	answer, err := i.Run(ctx, func(row func(imports.Row) error) error {
		body.Row = func(r imports.Row) error {
			if err := s.take(ctx, r.OrgID); err != nil {
				return err
			}
			return row(r)
		}
		return body.Read(&slotReader{slot: s, ctx: r.Context(), from: from})
	})
	if err != nil {
		return err
	}
	defer answer.Close()
	if answer.Ended != nil {
		u.log.WarnContext(ctx, "an import ended early: send it again for the rest, the imported users stay as they are",
			"fault", answer.Ended.ID, "imported", answer.Imported, "refused", answer.Refused)
	}
	return u.write(ctx, x, answer)
}

// write writes the answer of an import.
func (u *Uploads) write(ctx context.Context, x *exchange.Exchange, answer *imports.Answer) error {
	text, err := answer.Reader()
	if err != nil {
		return err
	}
	x.Header().Set("Content-Type", "application/json")
	x.WriteHeader(http.StatusOK)
	if _, err := io.Copy(slowWriter{x}, text); err != nil {
		u.log.InfoContext(ctx, "the answer of an import was not read", "err", err)
		panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
	}
	return nil
}

// importCall sends a request of an import for one organization.
type importCall func(ctx context.Context, organization string, r *usersv1.ImportRequest) (proto.Message, error)

// call returns a function that sends a request of an import. It authenticates the caller
// again each time, in the request's organization.
func (u *Uploads) call(x *exchange.Exchange, r *http.Request, m *dispatch.Method) importCall {
	return func(ctx context.Context, organization string, request *usersv1.ImportRequest) (proto.Message, error) {
		pass, err := u.AuthenticateIn(ctx, x, r.Header, organization)
		if err != nil {
			return nil, err
		}
		data, err := proto.Marshal(request)
		if err != nil {
			return nil, err
		}
		answer, err := u.CallInTurn(ctx, m, pass, data)
		if err != nil {
			return nil, err
		}
		response := m.Out.New().Interface()
		return response, proto.Unmarshal(answer.Data, response)
	}
}

// open returns the request's uncompressed body, and sets how it is read.
func open(ctx context.Context, x *exchange.Exchange, r *http.Request, b *imports.Body) (io.Reader, error) {
	var from io.Reader = slowReader{ctx, r.Body, http.NewResponseController(x)}
	switch r.Header.Get("Content-Encoding") {
	case "", "identity":
	case "gzip":
		packed := &counted{Reader: from}
		unpacked, err := gzip.NewReader(packed)
		if err != nil {
			return nil, gatewayfault.ErrImportBrokenOff.Say("The body is not compressed with gzip").Because(err)
		}
		from = &inflated{counted{Reader: unpacked}, packed}
	default:
		return nil, ErrMediaType
	}
	switch t := exchange.MediaType(r); {
	case t == "application/x-ndjson", t == "application/ndjson", t == "application/jsonl":
		b.Lines = true
	case t == "", t == "application/json", strings.HasSuffix(t, "+json"):
	default:
		return nil, ErrMediaType
	}
	return from, nil
}

// ErrMediaType is returned for a body of another media type or encoding.
var ErrMediaType = gatewayfault.ErrMediaTypeNotSupported.Say(
	"The body must be application/json or application/x-ndjson, " +
		"with Content-Encoding gzip or none")
