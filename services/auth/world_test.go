package auth

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/html"
	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	"herald/shared/bus"
	"herald/shared/caller"
	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/rpc"
	"herald/shared/testkit"
)

var kit = testkit.New("auth", Migrations)

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

const (
	public   = "https://login.example.com"
	initPath = "/ui/login/user/init"
)

// users stands in for the service of that name. Codes and passwords decide what it says.
type users struct {
	usersv1.UnimplementedUsersServer
	loginName string
	mu        sync.Mutex
	calls     []proto.Message
}

// faults that the code or the password brings about, as the real service declares them.
var faults = map[string]*fault.Fault{
	"WRONG222":   fault.New(fault.Invalid, "CODE_INVALID", "The code is wrong"),
	"OVERDUE2":   fault.New(fault.Precondition, "CODE_EXPIRED", "The code has expired"),
	"LOCKED22":   fault.New(fault.Exhausted, "CODE_LOCKED", "Too many wrong codes"),
	"BUSY2222":   fault.ErrOverloaded,
	"AWAY2222":   fault.ErrUnavailable.After(1),
	"SLOW2222":   fault.ErrDeadline,
	"BROKEN22":   fault.ErrInternal,
	"DENIED22":   fault.ErrDenied,
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

// name changes whom the completed form names.
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
	return &usersv1.CheckCodeResponse{Expired: r.Code == "EXPIRED2"}, nil
}

func (u *users) CompleteCode(_ context.Context, r *usersv1.CompleteCodeRequest) (*usersv1.CompleteCodeResponse, error) {
	u.called(r)
	f := faults[r.Code]
	if f == nil && r.UserId != "has-one" {
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
	u.called(r)
	if r.UserId == "busy" {
		return nil, fault.ErrOverloaded
	}
	return &usersv1.RequestCodeResponse{}, nil
}

// serve answers as the service users until the test ends.
func (u *users) serve(t *testing.T, g boot.Ground) {
	t.Helper()
	address := g.Bus
	address.User, address.Password = "users", bus.Password(g.Keys, "users")
	nc, err := bus.Connect(t.Context(), address, g.Log)
	if err != nil {
		t.Fatal(err)
	}
	s := rpc.NewServer(rpc.Config{Conn: nc, Signer: caller.NewSigner(g.Keys, g.Now), Log: g.Log, Metrics: g.Metrics, Tracer: g.Traces.Tracer("users")})
	if err := s.Register(&usersv1.Users_ServiceDesc, u); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Drain(); nc.Close() })
}

// open runs the service without users and answers with its pages as a browser reaches them.
func open(t *testing.T, g boot.Ground, publicURL string) http.Handler {
	t.Helper()
	address, err := boot.ParsePublicURL(publicURL)
	if err != nil {
		t.Fatal(err)
	}
	g.PublicURL = address
	s := kit.Open(t, g)
	if err := New(t.Context(), s, Config{DefaultLanguage: "en"}); err != nil {
		t.Fatal(err)
	}
	testkit.Run(t, s)
	return edge{authv1.NewAuthClient(testkit.Calls(t, g, "gateway"))}
}

// world is the service beside a users service.
func world(t *testing.T) (http.Handler, *users) {
	t.Helper()
	g, u := testkit.Ground(t), &users{}
	pages := open(t, g, public)
	u.serve(t, g)
	return pages, u
}

// edge does what the gateway does for pages.
type edge struct{ auth authv1.AuthClient }

func (e edge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	in := &heraldv1.HttpRequest{Method: r.Method, Uri: r.URL.RequestURI(), Body: body}
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

// call answers for a GET, or for a POST where there is a form.
func call(t *testing.T, h http.Handler, uri string, form url.Values, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", uri, nil)
	if form != nil {
		r = httptest.NewRequest("POST", uri, strings.NewReader(form.Encode()))
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

func mailed(values ...string) url.Values {
	v := url.Values{"userID": {"u1"}, "orgID": {"o1"}, "code": {"GUTERKXD"}, "passwordset": {"false"}}
	for i := 0; i < len(values); i += 2 {
		v.Set(values[i], values[i+1])
	}
	return v
}

// filled is the form with a good password, and changes to it.
func filled(values ...string) url.Values {
	return mailed(append([]string{"password", "Tr0ub4dor3", "confirmation", "Tr0ub4dor3"}, values...)...)
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

// element finds the first element of a name that has an attribute; the attribute may be empty.
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

func text(n *html.Node) string {
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
