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
	"github.com/spf13/pflag"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/types/known/anypb"

	"herald/deploy/herald/internal/services"
	"herald/shared/contract"
	"herald/shared/fault"
	"herald/shared/rpc"
	"herald/shared/secret"
)

// maxAnswer bounds an answer, in bytes.
const maxAnswer = 64 << 20

var errNoToken = errors.New("there is no token: name its file with --token-file or HERALD_TOKEN_FILE, or a " +
	"key file with --key-file or HERALD_KEY_FILE, or log in with herald login")

// ask sends a request by Connect with JSON. Connect has one URL per method and returns complete
// faults.
func (f *callFlags) ask(ctx context.Context, m contract.Method, request json.RawMessage) (json.RawMessage, error) {
	url, token, err := f.instance(ctx)
	switch {
	case err != nil:
		return nil, err
	case token.Empty() && !m.Access.Public:
		return nil, errNoToken
	}
	r := connect.NewRequest(&request)
	r.Header().Set("Authorization", "Bearer "+token.Reveal())
	if f.org != "" {
		r.Header().Set("X-Service-Orgid", f.org)
	}
	answer, err := connect.NewClient[json.RawMessage, json.RawMessage](client(), url+m.Procedure(),
		connect.WithCodec(jsonText{}), connect.WithReadMaxBytes(maxAnswer)).CallUnary(ctx, r)
	if e, ok := errors.AsType[*connect.Error](err); ok && connect.IsWireError(err) {
		return nil, refused(e)
	}
	if err != nil { // not wrapped: an interrupted call must not exit as a successful one
		return nil, fmt.Errorf("%s: %s", url, line(err.Error()))
	}
	return *answer.Msg, nil
}

// client returns the HTTP client for requests.
func client() *http.Client {
	return &http.Client{
		Timeout: 2 * rpc.MaxDuration,
		// do not send the token to another address
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// instance returns the URL and the token. With a key file it logs in for one.
func (f *callFlags) instance(ctx context.Context) (url string, token secret.Text, err error) {
	if f.tokenFile != "" && f.keyFile != "" {
		return "", token, errors.New("--token-file and --key-file: name one of them")
	}
	own, url, err := f.settings()
	if err != nil {
		return "", token, err
	}
	if f.tokenFile != "" {
		token, err = readToken(f.tokenFile)
		return url, token, err
	}
	key, err := f.key(own.run)
	switch {
	case err != nil:
		return "", token, err
	case !key.Empty():
		token, err = logIn(ctx, client(), url, key, apiScope)
		return url, token, err
	case !own.run.Token.Empty():
		return url, own.run.Token, nil
	}
	person, err := readSession(url)
	switch {
	case err != nil:
	case person.Token != nil:
		token, err = person.valid(ctx, client(), url)
	case f.url == "":
		if token, err = readToken(own.adminFile()); errors.Is(err, os.ErrNotExist) {
			err = nil
		}
	}
	return url, token, err
}

func readToken(file string) (secret.Text, error) {
	text, err := os.ReadFile(file)
	return secret.NewText(strings.TrimSpace(string(text))), err
}

// settings returns the settings and the address of the instance.
func (f *callFlags) settings() (own *config, url string, err error) {
	if own, err = load(); err != nil {
		return nil, "", err
	}
	address, err := own.services.PublicURL(cmp.Or(f.url, own.run.PublicURL))
	if err != nil {
		return nil, "", err
	}
	return own, address.String(), nil
}

// adminFile returns the file of the administrator's token of the first start.
func (c *config) adminFile() string {
	return cmp.Or(c.services.Users.TokenFile, filepath.Join(c.run.DataDir, "admin.pat"))
}

// key returns the key file with which a call logs in, if any.
func (f *callFlags) key(own services.RunConfig) (secret.Text, error) {
	if f.keyFile == "" {
		if !own.Key.Empty() && !own.Token.Empty() {
			return secret.Text{}, errors.New("HERALD_TOKEN and HERALD_KEY are both set: one says who calls")
		}
		return own.Key, nil
	}
	text, err := os.ReadFile(f.keyFile)
	return secret.NewText(string(text)), err
}

// atInstance adds the flag that names the instance.
func (f *callFlags) atInstance(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "url", "", "address of the instance; if empty, HERALD_PUBLIC_URL, or this machine at the "+
		"port of HERALD_LISTEN")
}

// asCaller adds the flags that say who calls.
func (f *callFlags) asCaller(flags *pflag.FlagSet) {
	flags.StringVar(&f.tokenFile, "token-file", "", "file with the token")
	flags.StringVar(&f.keyFile, "key-file", "", "key file of a machine user, to log in with instead")
}

// jsonText is a codec that does not parse JSON, so that unknown names are kept.
type jsonText struct{}

func (jsonText) Name() string { return "json" }

func (jsonText) Marshal(v any) ([]byte, error) { return *v.(*json.RawMessage), nil }

func (jsonText) Unmarshal(b []byte, v any) error {
	*v.(*json.RawMessage) = slices.Clone(b) // connect reuses b
	return nil
}

// refusal is a fault with words for a terminal.
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

// Error returns the fault's message, and a line for each of its details.
func (r *refusal) Error() string {
	f := r.fault
	lines := []string{line(f.ID + ": " + f.Message)}
	for _, v := range f.Fields {
		if said := v.Path + ": " + v.Reason; !strings.Contains(f.Message, said) {
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

// exitCode returns the exit code of a process whose command returned err, which is not nil. The method is not called
// ExitCode, because the error of a child process has a method of that name, and its exit code is not ours.
func exitCode(err error) int {
	if coded, ok := errors.AsType[interface {
		error
		ExitStatus() int
	}](err); ok {
		return coded.ExitStatus()
	}
	return 1
}

// ExitStatus is 10 and the code of the fault.
func (r *refusal) ExitStatus() int { return 10 + int(r.fault.Code) }
