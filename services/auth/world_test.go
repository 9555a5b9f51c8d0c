package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	textv1 "herald/shared/gen/herald/text/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

var kit = testkit.New("auth", Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

const public = "https://login.example.com"

// journey is a kind of mail with the path and forms of its pages.
type journey struct {
	kind, path string
	// form is the name of the first page's texts.
	form string
	// password reports that the form asks for a password.
	password bool
}

var (
	initialize = journey{"init", "/ui/login/user/init", "init.form", true}
	journeys   = []journey{
		initialize,
		{"verifyemail", "/ui/login/mail/verification", "verifyemail.confirm", false},
		{"passwordreset", "/ui/login/password/reset", "passwordreset.form", true},
	}
)

// link returns the address in the mail, with other values in its query.
func (j journey) link(values ...string) string { return j.path + "?" + linked(values...).Encode() }

// filled returns the values of the form with a good password, if it asks for one, and with other
// values.
func (j journey) filled(values ...string) url.Values {
	if j.password {
		values = append([]string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, values...)
	}
	return linked(values...)
}

func linked(values ...string) url.Values {
	v := url.Values{"userID": {"u1"}, "orgID": {"o1"}, "code": {"GUTERKXD"}}
	for i := 0; i < len(values); i += 2 {
		v.Set(values[i], values[i+1])
	}
	return v
}

func pageTexts(t *testing.T, language string) (texts map[string]string) {
	t.Helper()
	for _, folder := range []string{"", "account/"} {
		data, err := os.ReadFile("internal/web/frame/texts/" + folder + language + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(data, &texts); err != nil { // adds to the ones that are there
			t.Fatal(err)
		}
	}
	return texts
}

// users stands in for the service users. Its answers depend on the code and the password.
type users struct {
	usersv1.UnimplementedUsersServer
	usersv1.UnimplementedCredentialsServer
	usersv1.UnimplementedFactorsServer
	usersv1.UnimplementedLoginsServer
	usersv1.UnimplementedInternalServer
	testkit.Unguarded
	loginName string
	mu        sync.Mutex
	calls     []proto.Message
	own       own
	// changes is how often the user has changed in a way that ends logins.
	changes uint64
	// unverified reports that the user's address was never verified.
	unverified bool
	// asked, if not nil, gets each request for a mail.
	asked chan *usersv1.RequestCodeRequest
}

// faults are those of the real service, by the code or password that causes them here.
var faults = map[string]*fault.Fault{
	"WRONG222":   fault.New(fault.Invalid, "CODE_WRONG", "The code is wrong"),
	"OVERDUE2":   fault.New(fault.Precondition, "CODE_EXPIRED", "The code has expired"),
	"LOCKED22":   fault.New(fault.Exhausted, "CODE_LOCKED", "Too many wrong codes"),
	"BUSY2222":   fault.ErrOverloaded,
	"AWAY2222":   fault.ErrUnavailable.After(1),
	"SLOW2222":   fault.ErrDeadlineExceeded,
	"BROKEN22":   fault.ErrInternal,
	"DENIED22":   fault.ErrPermissionDenied,
	"NEEDSPW2":   fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password"),
	"short":      fault.New(fault.Invalid, "PASSWORD_TOO_SHORT", "The password is too short"),
	"odd":        fault.New(fault.Invalid, "PASSWORD_ODD", `No <b>odd</b> passwords & the "like"`),
	"":           fault.New(fault.Invalid, "PASSWORD_REQUIRED", "Choose a password"),
	"has-one":    nil,
	"Tr0ub4dor3": nil,
}

func (u *users) called(m proto.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls = append(u.calls, m)
}

// name sets the login name that CompleteCode returns.
func (u *users) name(loginName string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.loginName = loginName
}

func (u *users) requests() []proto.Message {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls
}

func (u *users) CheckCode(_ context.Context, r *usersv1.CheckCodeRequest) (*usersv1.CheckCodeResponse, error) {
	u.called(r)
	if r.Code == "AWAY2222" {
		return nil, faults[r.Code]
	}
	checked := &usersv1.CheckCodeResponse{Expired: r.Code == "EXPIRED2"}
	if f := faults[r.Code]; r.Code == "" || f != nil && (f.ID == "CODE_WRONG" || f.ID == "CODE_LOCKED") {
		return checked, nil
	}
	checked.Holder = &usersv1.CodeHolder{LoginName: "ada <b>", OrgName: "Analytical & Co"}
	if r.Code == "NAMED222" {
		checked.Holder.PreferredLanguage = "ja-JP"
	}
	return checked, nil
}

func (u *users) CompleteCode(_ context.Context, r *usersv1.CompleteCodeRequest) (*usersv1.CompleteCodeResponse, error) {
	u.called(r)
	f := faults[r.Code]
	if f == nil && r.Kind != "verifyemail" && r.UserId != "has-one" {
		f = faults[r.Password]
	}
	if f != nil {
		return nil, f
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return &usersv1.CompleteCodeResponse{LoginName: cmp.Or(u.loginName, "ada@example.com")}, nil
}

func (u *users) RequestCode(_ context.Context, r *usersv1.RequestCodeRequest) (*usersv1.RequestCodeResponse, error) {
	if u.asked != nil {
		u.asked <- r
	}
	return &usersv1.RequestCodeResponse{}, nil
}

// text stands in for the service text.
type text struct {
	textv1.UnimplementedTextServer
	mu       sync.Mutex
	standard string
	allowed  []string
}

var supported = strings.Fields("bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

func newText() *text { return &text{standard: "en", allowed: supported} }

// choose sets the default and allowed languages.
func (x *text) choose(standard string, allowed ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.standard, x.allowed = standard, allowed
}

func (x *text) ResolveLanguages(
	context.Context, *textv1.ResolveLanguagesRequest,
) (*textv1.ResolveLanguagesResponse, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &textv1.ResolveLanguagesResponse{DefaultLanguage: x.standard, AllowedLanguages: x.allowed}, nil
}

// open runs the service without others and returns its pages as a browser gets them.
func open(t *testing.T, g boot.Ground, publicURL string) http.Handler {
	t.Helper()
	address, err := boot.ParsePublicURL(publicURL)
	if err != nil {
		t.Fatal(err)
	}
	g.PublicURL = address
	s := kit.Open(t, g)
	shareKeys(t, s)
	if err := New(t.Context(), s, Config{MaxLimit: 1000, SigningKeyDays: 90}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, s)
	return edge{authv1.NewAuthClient(testkit.Calls(t, g, "gateway"))}
}

// world runs the service with stand-ins for users and text.
func world(t *testing.T) (http.Handler, *users, *text) {
	t.Helper()
	g, u, x := testkit.Ground(t), &users{}, newText()
	pages := open(t, g, public)
	serveUsers(t, g, u)
	testkit.Serve(t, g, "text", x, &textv1.Text_ServiceDesc)
	return pages, u, x
}

// edge forwards requests for pages as the gateway does.
type edge struct{ auth authv1.AuthClient }

func (e edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	in := &heraldv1.HttpRequest{Method: r.Method, Uri: r.URL.RequestURI(), Body: body, Client: r.RemoteAddr}
	for name, values := range r.Header {
		for _, v := range values {
			in.Headers = append(in.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
		}
	}
	out, err := e.auth.ServePage(r.Context(), &authv1.ServePageRequest{Request: in})
	if err != nil {
		http.Error(w, err.Error(), fault.From(err).HTTPStatus())
		return
	}
	for _, h := range out.Response.Headers {
		w.Header().Add(h.Name, h.Value)
	}
	w.WriteHeader(int(out.Response.Status))
	_, _ = w.Write(out.Response.Body)
}

// clients counts the clients of call: each post comes from another one.
var clients atomic.Int64

// call makes a GET request, or a POST request if there is a form.
func call(t *testing.T, h http.Handler, uri string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", uri, nil)
	if form != nil {
		r = httptest.NewRequest("POST", uri, strings.NewReader(form.Encode()))
		r.RemoteAddr = fmt.Sprint("client ", clients.Add(1))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func parse(t *testing.T, body string) *html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return root
}

func attribute(n *html.Node, name string) (string, bool) {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val, true
		}
	}
	return "", false
}

// element returns the first element of that name with that attribute and value. With an empty key
// any element of the name will do.
func element(root *html.Node, name, key, value string) *html.Node {
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == name {
			if got, ok := attribute(n, key); key == "" || ok && got == value {
				return n
			}
		}
	}
	return nil
}

func textOf(n *html.Node) string {
	if n == nil {
		return ""
	}
	var out strings.Builder
	for c := range n.Descendants() {
		if c.Type == html.TextNode {
			out.WriteString(c.Data)
		}
	}
	return strings.Join(strings.Fields(out.String()), " ")
}

// serveUsers answers the requests to the service users that auth sends.
func serveUsers(t testing.TB, g boot.Ground, u any) {
	t.Helper()
	testkit.Serve(t, g, "users", u, &usersv1.Users_ServiceDesc, &usersv1.Credentials_ServiceDesc,
		&usersv1.Factors_ServiceDesc, &usersv1.Logins_ServiceDesc, &usersv1.Internal_ServiceDesc)
}
