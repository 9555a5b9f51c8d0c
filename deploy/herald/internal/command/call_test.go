package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	"herald/deploy/herald/internal/command"
	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// asked is a request that an instance got.
type asked struct {
	path, body string
	header     http.Header
}

// instance returns the same answer to every request and keeps the requests.
func instance(t *testing.T, answer http.HandlerFunc) (url string, got func() []asked) {
	t.Helper()
	all := make(chan asked, 10)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		all <- asked{r.URL.Path, string(body), r.Header}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []asked {
		var list []asked
		for len(all) > 0 {
			list = append(list, <-all)
		}
		return list
	}
}

func says(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}
}

// file writes a file and returns its path for a flag.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func execute(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := command.New()
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	c.SetErr(io.Discard)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// A wrong request is refused here, with the name of the wrong field, and not sent.
func TestCallMistakes(t *testing.T) {
	t.Parallel()
	url, got := instance(t, says("{}"))
	token := file(t, "secret\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"Users.GetUsr"}, "Users.GetUser"},
		{[]string{"users.getuser"}, "Users.GetUser"},
		{[]string{"GetUser"}, "did you mean Users.GetUser?"},
		{[]string{"/herald.users.v1.Users/GetUser"}, "did you mean Users.GetUser?"},
		{[]string{"Text"}, "Text.GetMessageText, "},
		{[]string{"Internal.ResolveToken"}, `there is no method "Internal.ResolveToken"`},
		{[]string{"Users.GetUser", "more"}, "more"},
		{[]string{"Users.GetUser", "--json", `{"userID":"a"}`}, `unknown field "userID"`},
		{[]string{"Users.GetUser", "--json", `{"userId":"a","userId":"b"}`}, "userId"},
		{[]string{"Users.GetUser", "--json", `{"userId":1}`}, "userId"},
		{[]string{"Users.GetUser", "--json", `{`}, "--json: "},
		{[]string{"Users.GetUser", "--json", `[]`}, "--json: "},
		{[]string{"Users.GetUser", "--json", `{} {}`}, "--json: "},
		{[]string{"Users.GetUser", "--json", "@/no/such/file"}, "/no/such/file"},
		{[]string{"Users.GetUser", "--json", "@" + file(t, "\x1b[2J")}, `\u001b`},
		{[]string{"Users.SearchUsers", "--json", `{"queries":[{"stateQuery":{"state":"ACTIVE"}}]}`},
			`field state: "ACTIVE"`},
		{[]string{"Users.SearchUsers", "--json", `{"query":{"limit":"x"}}`}, "limit"},
		{[]string{"Users.GetUser", "-o", "xml"}, `there is no "xml"; choose one of table, json, yaml, id`},
		{[]string{"Users.GetUser", "--json", `{"userID":"a"}`}, "`herald call Users.GetUser --describe` shows"},
		{[]string{"Users.SearchUsers", "--columns", "id,name"}, `no "name"; it has id, details.changeDate, `},
		{[]string{"Users.GetUser", "--columns", "name"}, `no "name"; it has id, details.changeDate, `},
		{[]string{"Users.SearchUsers", "--columns", "id.x"}, `the answer has no "id.x"`},
		{[]string{"Users.SearchUsers", "--columns", "id", "-o", "json"}, "-o json prints everything; choose -o table"},
		{[]string{"Users.RemovePhone", "-o", "id"}, "has no id; name what to print with --columns"},
		{[]string{"Users.GetUser", "--token", "hrld_x"}, "--token"},
		{[]string{"Users.GetUser", "--token-file", "/no/such/file"}, "/no/such/file"},
		{[]string{"Users.GetUser", "--token-file", file(t, "\n")}, "there is no token"},
		{[]string{"Users.GetUser", "--url", "localhost:8080"}, "is not an address"},
	} {
		_, err := execute(t, "", append([]string{"call", "--url", url, "--token-file", token}, c.args...)...)
		if err == nil || !strings.Contains(err.Error(), c.says) || command.ExitCode(err) != 1 {
			t.Errorf("%q: %v", c.args, err)
		}
	}
	if sent := got(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
}

// The administrator's token is not sent to an instance that a flag names.
func TestCallKeepsTheToken(t *testing.T) {
	url, got := instance(t, says("{}"))
	t.Setenv("HERALD_ADMIN_PAT_FILE", file(t, "admin\n"))
	if _, err := execute(t, "", "call", "Users.GetMyUser", "--url", url); err == nil || len(got()) > 0 {
		t.Errorf("%v", err)
	}
	t.Setenv("HERALD_PUBLIC_URL", url)
	if _, err := execute(t, "", "call", "Users.GetMyUser"); err != nil {
		t.Error(err)
	}
	t.Setenv("HERALD_TOKEN", "own")
	if _, err := execute(t, "", "call", "Users.GetMyUser", "--url", url); err != nil {
		t.Error(err)
	}
	if sent := got(); len(sent) != 2 || sent[0].header.Get("Authorization") != "Bearer admin" ||
		sent[1].header.Get("Authorization") != "Bearer own" {
		t.Errorf("sent %v", sent)
	}
}

func TestCallSends(t *testing.T) {
	t.Parallel()
	url, got := instance(t, says("{}"))
	token, request := file(t, " secret\n"), `{"userId": "mini"}`
	for _, args := range [][]string{
		{"Users.GetUser", "--json", request},
		{"herald.users.v1.Users.GetUser", "--json", "@" + file(t, request)},
		{"Users.GetUser", "--json", "@-", "--org", "o1"},
		{"Users.GetUser", "--json", "-"},
		{"Users.GetUser"},
	} {
		if _, err := execute(t, request, append([]string{"call", "--url", url, "--token-file", token},
			args...)...); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
	sent := got()
	if len(sent) != 5 {
		t.Fatalf("sent %v", sent)
	}
	for i, want := range []asked{
		{body: request}, {body: request}, {body: request, header: http.Header{"X-Service-Orgid": {"o1"}}},
		{body: request}, {body: "{}"},
	} {
		s := sent[i]
		if s.path != "/herald.users.v1.Users/GetUser" || s.body != want.body ||
			s.header.Get("Authorization") != "Bearer secret" ||
			s.header.Get("Content-Type") != "application/json" || !reflect.DeepEqual(s.header["X-Service-Orgid"],
			want.header["X-Service-Orgid"]) {
			t.Errorf("%d: sent %v", i, s)
		}
	}
}

const (
	twoUsers = `{"details":{"totalResult":"7","viewTimestamp":"2030-01-02T03:04:05Z"},"result":[` +
		`{"id":"u1","details":{"sequence":"5","changeDate":"2030-01-02T03:04:05Z","resourceOwner":"o"},` +
		`"userName":"mini\u001b[2J\n","loginNames":["a","b"],"human":{"profile":{"firstName":"Mini"}}},` +
		`{"id":"u2","userName":"` + "\u202e\u009b\U000e0001" + strings70 +
		`","machine":{"hasSecret":false},"isNew":true}]}`
	strings70 = "1234567890123456789012345678901234567890123456789012345678901234567890"
	oneUser   = `{"user":{"id":"u1","details":{"sequence":"5"},"loginNames":[],` +
		`"human":{"profile":{"firstName":"ミニ\nMaus","gender":"GENDER_MALE"},"email":{"isEmailVerified":false}}},` +
		`"later":1}`
)

func TestCallPrints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, output, answer, want string }{
		{"Users.GetUser", "json", `{"user":{"id":"u1","later":["` + "\u009b\u202e" + `ü"]}}`,
			"{\n  \"user\": {\n    \"id\": \"u1\",\n    \"later\": [\n      \"\\u009b\\u202eü\"\n    ]\n  }\n}\n"},
		{"Users.SearchUsers", "table", twoUsers, strings.Join([]string{
			"id  userName" + strings.Repeat(" ", 88) + "machine.hasSecret  loginNames  details.changeDate",
			`u1  mini\u001b[2J\n` + strings.Repeat(" ", 100) + "a, b" + strings.Repeat(" ", 8) + "2030-01-02T03:04:05Z",
			`u2  \u202e\u009b\udb40\udc01` + strings70 + "  false                          ",
			"2 of 7", "",
		}, "\n")},
		{"Users.SearchUsers", "table", `{"result":[{"id":"u1","human":{"profile":{"firstName":"Mini",` +
			`"displayName":"Mini Mouse"},"email":{"email":"mini@example.com","isEmailVerified":true}}}]}`,
			"id  human.profile.displayName  human.email.email\n" +
				"u1  Mini Mouse                 mini@example.com\n1 of 1\n"},
		{"Users.SearchUsers", "table", `{"details":{"totalResult":"0"},"result":[]}`, "0 of 0\n"},
		{"Users.SearchUsers", "table", `{"result":[null,1]}`, "2 of 2\n"},
		{"Members.SearchIamMemberRoles", "table", `{"result":[{"role":"A"}]}`, "role\nA\n1 of 1\n"},
		{"Users.GetUser", "table", oneUser, "" +
			"user.id                           u1\n" +
			"user.details.sequence             5\n" +
			"user.human.profile.firstName      ミニ\\nMaus\n" +
			"user.human.profile.gender         GENDER_MALE\n" +
			"user.human.email.isEmailVerified  false\n"},
		{"Text.ListLanguages", "table", `{"languages":["de","en"]}`, "languages  de, en\n"},
		{"Notifications.SendTestMail", "table", `{"notification":{"attempts":[{"reply":"ok"}]}}`,
			`notification.attempts  {"reply":"ok"}` + "\n"},
	} {
		url, _ := instance(t, says(c.answer))
		got, err := execute(t, "", "call", c.method, "--url", url, "--token-file", file(t, "x"), "-o", c.output)
		if err != nil || got != c.want {
			t.Errorf("%s: %v\ngot\n%q\nwant\n%q", c.answer, err, got, c.want)
		}
	}
}

// Scripts read ids and other values without a parser, and answers as YAML.
func TestCallPrintsForScripts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args         []string
		answer, want string
	}{
		"ids of results":       {[]string{"Users.SearchUsers", "-o", "id"}, twoUsers, "u1\nu2\n"},
		"no results":           {[]string{"Users.SearchUsers", "-o", "id"}, `{"result":[]}`, ""},
		"id of a new object":   {[]string{"Projects.CreateProject", "-o", "id"}, `{"details":{},"id":"p1"}`, "p1\n"},
		"id with a name":       {[]string{"Apps.CreateOidcApp", "-o", "id"}, `{"clientId":"c1","appId":"a1"}`, "a1\n"},
		"id of an object":      {[]string{"Users.GetUser", "-o", "id"}, oneUser, "u1\n"},
		"key instead of an id": {[]string{"Users.SearchUserMetadata", "-o", "id"}, `{"result":[{"key":"k"}]}`, "k\n"},
		"ids of members": {[]string{"Members.SearchIamMembers", "-o", "id"},
			`{"result":[{"userId":"u"}]}`, "u\n"},
		"another value": {[]string{"Apps.CreateOidcApp", "-o", "id", "--columns", "clientSecret"},
			`{"clientSecret":"s","appId":"a1"}`, "s\n"},
		"values of results": {[]string{"Users.SearchUsers", "-o", "id", "--columns", "id,userName"},
			`{"result":[{"id":"u1","userName":"a\tb"},{"id":"u2"}]}`, "u1\ta\\u0009b\nu2\t\n"},
		"columns": {[]string{"Users.SearchUsers", "--columns", "userName,id,state"},
			`{"result":[{"id":"u1","userName":"mini"}]}`, "userName  id  state\nmini      u1  \n1 of 1\n"},
		"columns of an object": {[]string{"Users.GetUser", "--columns", "user.human.profile.gender,user.id"}, oneUser,
			"user.human.profile.gender  GENDER_MALE\nuser.id                    u1\n"},
		"columns of an object as in its list": {[]string{"Users.GetUser", "--columns", "human.profile.gender,id"},
			oneUser, "human.profile.gender  GENDER_MALE\nid                    u1\n"},
		"values of an object as in its list": {[]string{"Users.GetUser", "-o", "id", "--columns", "id,user.id"},
			oneUser, "u1\tu1\n"},
		"yaml": {[]string{"Users.GetUser", "-o", "yaml"},
			`{"user":{"id":"u1","names":["a: b","1","true","","\u202e\u009b` + "\U000e0001\U0001f600" + `","x\ny"],` +
				`"n":12345678901234567890,"deep":[{"yes":false,"none":null}],"empty":{}}}`, "" +
				"user:\n  id: u1\n  names:\n    - 'a: b'\n    - \"1\"\n    - \"true\"\n    - \"\"\n" +
				`    - "\u202e\x9B\U000E0001\U0001F600"` + "\n    - |-\n      x\n      y\n" +
				"  n: 12345678901234567890\n  deep:\n    - yes: false\n      none: null\n  empty: {}\n"},
		"yaml of a hidden character": {[]string{"Users.GetUser", "-o", "yaml"}, `{"user":{"id":"\u202eu1"}}`,
			`user:` + "\n" + `  id: "\u202eu1"` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := instance(t, says(c.answer))
			args := append([]string{"call", "--url", url, "--token-file", file(t, "x")}, c.args...)
			got, err := execute(t, "", args...)
			if err != nil || got != c.want {
				t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, c.want)
			}
		})
	}
}

// A refusal prints everything that its reader can use, and has an exit code of its own.
func TestCallRefusals(t *testing.T) {
	t.Parallel()
	nobody := fault.New(fault.NotFound, "USER_NOT_FOUND", "User not found")
	for _, c := range []struct {
		f    *fault.Fault
		code int
		want string
	}{
		{nobody, 15, "USER_NOT_FOUND: User not found\n  request id: r1"},
		{fault.ErrInvalidArgument.Say("a: is bad").On("a", "is bad").On("b", "is\x1b[2J\nworse"), 13,
			"INVALID_ARGUMENT: a: is bad\n  b: is\\u001b[2J\\nworse\n  request id: r1"},
		{fault.ErrPermissionDenied.Lacking("user.read", "o1"), 17,
			"PERMISSION_DENIED: Permission denied\n  lacking: user.read " +
				"in the organization o1\n  request id: r1"},
		{fault.ErrPermissionDenied.Lacking("user.read", ""), 17,
			"PERMISSION_DENIED: Permission denied\n  lacking: user.read " +
				"in the organization acted on\n  request id: r1"},
		{fault.ErrOverloaded.After(1500 * time.Millisecond), 18, "OVERLOADED: Too many requests at once; try again\n " +
			" try again in 1.5s\n  request id: r1"},
		{fault.New(fault.Exists, "X", "x"), 16, "X: x\n  request id: r1"},
		{fault.New(fault.Precondition, "X", "x"), 19, "X: x\n  request id: r1"},
		{fault.New(fault.Unimplemented, "X", "x"), 22, "X: x\n  request id: r1"},
		{fault.ErrDeadlineExceeded, 14, fault.ErrDeadlineExceeded.Error() + "\n  request id: r1"},
		{fault.ErrInternal, 23, fault.ErrInternal.Error() + "\n  request id: r1"},
		{fault.ErrUnavailable, 24, fault.ErrUnavailable.Error() + "\n  try again in 1s\n  request id: r1"},
		{fault.ErrUnauthenticated, 26, fault.ErrUnauthenticated.Error() + "\n  request id: r1"},
	} {
		url, _ := instance(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Request-Id", "r1")
			s := c.f.Status()
			e := connect.NewError(connect.Code(s.Code), &text{s.Message})
			for _, d := range s.Details {
				detail, err := connect.NewErrorDetail(d)
				if err != nil {
					t.Error(err)
				}
				e.AddDetail(detail)
			}
			if err := connect.NewErrorWriter().Write(w, r, e); err != nil {
				t.Error(err)
			}
		})
		out, err := execute(t, "", "call", "Users.GetUser", "--url", url, "--token-file", file(t, "x"))
		if err == nil || err.Error() != c.want || command.ExitCode(err) != c.code || out != "" {
			t.Errorf("%v:\n%v\nexit code %d, printed %q", c.f, err, command.ExitCode(err), out)
		}
	}
}

type text struct{ s string }

func (t *text) Error() string { return t.s }

// A response that is not Herald's is an error of the connection.
func TestCallGetsNoAnswer(t *testing.T) {
	t.Parallel()
	elsewhere, followed := instance(t, says("{}"))
	for name, answer := range map[string]http.HandlerFunc{
		"not found": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"code":5,"message":"There is nothing at this path"}`)
		},
		"page":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"half":        says(`{"user":`),
		"bad gateway": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
		},
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		url, _ := instance(t, answer)
		for _, output := range []string{"json", "table"} {
			out, err := execute(t, "", "call", "Users.GetUser", "--url", url, "--token-file", file(t, "x"),
				"-o", output)
			if err == nil || command.ExitCode(err) != 1 || out != "" {
				t.Errorf("%s: %v, printed %q", name, err, out)
			}
		}
	}
	if sent := followed(); len(sent) > 0 {
		t.Errorf("the token went elsewhere: %v", sent)
	}
}

// There is a command for each public method and for no other. Each has a description and shell
// completion.
func TestCallMethods(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	completed, err := execute(t, "", "__complete", "call", "")
	if err != nil {
		t.Fatal(err)
	}
	var names, public []string
	for l := range strings.Lines(completed) {
		if name, _, ok := strings.Cut(l, "\t"); ok {
			names = append(names, name)
		}
	}
	for _, m := range methods {
		if m.Internal() {
			continue
		}
		name := string(m.Parent().Name()) + "." + string(m.Name())
		public = append(public, name)
		sketch, err := execute(t, "", "call", name, "--describe")
		if err != nil || !json.Valid([]byte(sketch)) {
			t.Errorf("%s: %v, described as %s", name, err, sketch)
		}
	}
	slices.Sort(public)
	if slices.Sort(names); len(public) < 50 || !slices.Equal(names, public) {
		t.Errorf("commands %q\nmethods  %q", names, public)
	}
	list, err := execute(t, "", "call")
	if err != nil || !regexp.MustCompile(
		`(?m)^Users\.SearchUsers +POST /management/v1/users/_search +user\.read$`).MatchString(list) {
		t.Errorf("%v, listed %s", err, list)
	}
	if outputs, err := execute(t, "", "__complete", "call", "Users.GetUser", "-o", ""); err != nil ||
		!strings.HasPrefix(outputs, "table\njson\nyaml\nid\n") {
		t.Errorf("%v, completed %q", err, outputs)
	}
}

func TestCallDescribes(t *testing.T) {
	t.Parallel()
	got, err := execute(t, "", "call", "Imports.ImportHumanUser", "--describe")
	if err != nil {
		t.Fatal(err)
	}
	var shape map[string]any
	if err := json.Unmarshal([]byte(got), &shape); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"userId": "string", "passwordChangeRequired": "bool", "dataOrgs": "google.protobuf.Value",
		"metadata":       []any{map[string]any{"key": "string", "value": "bytes"}},
		"hashedPassword": map[string]any{"value": "string"},
	} {
		t.Run(name, func(t *testing.T) {
			if !reflect.DeepEqual(shape[name], want) {
				t.Errorf("%s is %v", name, shape[name])
			}
		})
	}
	if profile, _ := shape["profile"].(map[string]any); profile["gender"] != "GENDER_UNSPECIFIED | GENDER_FEMALE | "+
		"GENDER_MALE | GENDER_DIVERSE" {
		t.Errorf("gender in %v", profile)
	}
	if !strings.HasPrefix(got, "{\n  \"userId\": \"string\",\n  \"user\": {") {
		t.Errorf("not in the order of the contract: %s", got)
	}
}

// No answer contains characters that a terminal obeys.
func FuzzCallAnswer(f *testing.F) {
	for _, answer := range []string{
		twoUsers, oneUser, `{"details":{"totalResult":"\u001b"},"result":[[1],{"userName":{"\u001b":1}}]}`, `[]`,
		"{\"user\":{\"id\":\"\xff\x9b\"}}",
	} {
		f.Add([]byte(answer))
	}
	f.Fuzz(func(t *testing.T, answer []byte) {
		for _, format := range command.Formats {
			for _, contract := range []proto.Message{&usersv1.GetUserResponse{}, &usersv1.SearchUsersResponse{}} {
				var out bytes.Buffer
				err := command.Print(&out, format, contract.ProtoReflect().Descriptor(), answer)
				if printed := out.String(); strings.ContainsFunc(printed, func(r rune) bool {
					return r != '\n' && !unicode.IsGraphic(r)
				}) || err == nil && !json.Valid(answer) {
					t.Errorf("%v, printed %q", err, printed)
				}
			}
		}
	})
}

func TestExitCodeOfAChildProcessIsNotOurs(t *testing.T) {
	t.Parallel()
	child := exec.CommandContext(t.Context(), "sh", "-c", "exit 2").Run()
	if code := command.ExitCode(fmt.Errorf("the server: %w", child)); code != 1 {
		t.Errorf("%v ends the command with %d", child, code)
	}
}
