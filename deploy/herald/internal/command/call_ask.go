package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"herald/deploy/herald/internal/allinone"
	"herald/shared/boot"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 20

// ask sends a request by Connect with JSON, which has one address for each method and
// carries faults whole.
func (f *callFlags) ask(ctx context.Context, m contract.Method, request json.RawMessage) (json.RawMessage, error) {
	url, token, err := f.instance(os.Environ())
	switch {
	case err != nil:
		return nil, err
	case token.Empty() && !m.Access.Public:
		return nil, errors.New("there is no token: name its file with --token-file or HERALD_TOKEN_FILE")
	}
	r := connect.NewRequest(&request)
	r.Header().Set("Authorization", "Bearer "+token.Reveal())
	if f.org != "" {
		r.Header().Set("X-Service-Orgid", f.org)
	}
	client := &http.Client{
		Timeout: 2 * rpc.MaxDuration,
		// the token goes nowhere else
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := connect.NewClient[json.RawMessage, json.RawMessage](client, url+m.Procedure(),
		connect.WithCodec(jsonText{}), connect.WithReadMaxBytes(maxAnswer)).CallUnary(ctx, r)
	if e, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		return nil, refused(e)
	}
	if err != nil { // not wrapped: who interrupts a call must not take it for made
		return nil, fmt.Errorf("%s: %s", url, line(err.Error()))
	}
	return *answer.Msg, nil
}

// instance finds whom to ask, and as whom. The settings of every process are known, so
// that a call can be made where one runs.
func (f *callFlags) instance(environ []string) (url string, token secret.Text, err error) {
	services := allinone.NewServices()
	var own allinone.Config
	if err := boot.Load(environ, append(services.Configs(), &own, &single{}, &boot.Observe{})...); err != nil {
		return "", token, err
	}
	address, err := services.PublicURL(cmp.Or(f.url, own.PublicURL))
	if err != nil {
		return "", token, err
	}
	file := f.tokenFile
	if file == "" && (!own.Token.Empty() || f.url != "") {
		return address.String(), own.Token, nil
	}
	text, err := os.ReadFile(cmp.Or(file, services.Users.TokenFile, filepath.Join(own.DataDir, "admin.pat")))
	if file == "" && errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return address.String(), secret.NewText(strings.TrimSpace(string(text))), err
}

// jsonText is the codec that leaves JSON as it is, with names that are new to us.
type jsonText struct{}

func (jsonText) Name() string { return "json" }

func (jsonText) Marshal(v any) ([]byte, error) { return *v.(*json.RawMessage), nil }

func (jsonText) Unmarshal(b []byte, v any) error {
	*v.(*json.RawMessage) = slices.Clone(b) // connect takes b back
	return nil
}

// refusal is a fault as a person reads it at a terminal.
type refusal struct {
	fault   *fault.Fault
	request string
}

func refused(e *connect.Error) error {
	s := &status.Status{Code: int32(e.Code()), Message: e.Message()}
	for _, d := range e.Details() {
		s.Details = append(s.Details, &anypb.Any{TypeUrl: "type.googleapis.com/" + d.Type(), Value: d.Bytes()})
	}
	return &refusal{fault.FromStatus(s), e.Meta().Get("X-Request-Id")}
}

// Error is the fault, and a line for all else that is known.
func (r *refusal) Error() string {
	f := r.fault
	lines := []string{line(f.ID + ": " + f.Message)}
	for _, v := range f.Fields {
		if said := v.Path + ": " + v.Reason; said != f.Message {
			lines = append(lines, line(said))
		}
	}
	if f.Permission != "" {
		lines = append(lines, line("lacking: "+f.Permission+" in the organization "+cmp.Or(f.Organization, "acted on")))
	}
	if f.RetryAfter > 0 {
		lines = append(lines, "try again in "+f.RetryAfter.String())
	}
	return strings.Join(append(lines, line("request id: "+r.request)), "\n  ")
}

// exitCode is how a process ends whose command ended with err, which is not nil.
func exitCode(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return 10 + int(r.fault.Code)
	}
	return 1
}
