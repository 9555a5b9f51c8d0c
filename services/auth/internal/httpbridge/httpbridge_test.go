package httpbridge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	authv1 "herald/shared/gen/herald/auth/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// response is the answer of each kind of request.
type response interface{ GetResponse() *heraldv1.HttpResponse }

// handle passes a request to h, as each kind of request of a browser and of a program.
func handle(t *testing.T, in *heraldv1.HttpRequest, h http.HandlerFunc) (*heraldv1.HttpResponse, error) {
	t.Helper()
	other := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("another's %s", r.URL) })
	pages, endpoints := Bridge{Browsers: h, Programs: other}, Bridge{Browsers: other, Programs: h}
	page, err := pages.ServePage(t.Context(), &authv1.ServePageRequest{Request: in})
	for name, bridge := range map[string]func() (response, error){
		"open page": func() (response, error) {
			return pages.OpenPage(t.Context(), &authv1.ServePageRequest{Request: in})
		},
		"external page": func() (response, error) {
			return pages.ExternalPage(t.Context(), &authv1.ServePageRequest{Request: in})
		},
		"endpoint": func() (response, error) {
			return endpoints.ServeEndpoint(t.Context(), &authv1.ServeEndpointRequest{Request: in})
		},
		"open endpoint": func() (response, error) {
			return endpoints.OpenEndpoint(t.Context(), &authv1.ServeEndpointRequest{Request: in})
		},
	} {
		same, fails := bridge()
		if !proto.Equal(page.GetResponse(), same.GetResponse()) || fault.From(err).ID != fault.From(fails).ID {
			t.Errorf("the page is %v, %v; the %s %v, %v", page, err, name, same, fails)
		}
	}
	return page.GetResponse(), err
}

func TestHandlersGetTheForwardedRequest(t *testing.T) {
	t.Parallel()
	in := &heraldv1.HttpRequest{
		Method: "POST", Uri: "/ui/a%20b?x=1&x=2", Body: []byte("y=%32"), Client: "192.0.2.7",
		Headers: []*heraldv1.HttpHeader{
			{Name: "content-type", Value: "application/x-www-form-urlencoded"}, {Name: "Cookie", Value: "a=1"},
			{Name: "cookie", Value: "b=2"},
			{Name: "Host", Value: "evil.example"},
		},
	}
	_, err := handle(t, in, func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		if r.Method != "POST" || r.URL.Path != "/ui/a b" || r.PostForm.Get("y") != "2" ||
			!slices.Equal(r.Form["x"], []string{"1", "2"}) {
			t.Errorf("%s %s with %v", r.Method, r.URL, r.Form)
		}
		if len(r.Cookies()) != 2 || r.Host != host || r.RemoteAddr != "192.0.2.7" {
			t.Errorf("cookies %v, host %q, client %q", r.Cookies(), r.Host, r.RemoteAddr)
		}
		if _, ok := r.Context().Deadline(); ok || r.Context().Err() != nil {
			t.Error("the request has another context")
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnswersOfHandlersAreReturned(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer http.HandlerFunc
		status int32
		body   string
	}{
		{"nothing", func(http.ResponseWriter, *http.Request) {}, 200, ""},
		{"body alone", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "a") }, 200, "a"},
		{"first status counts", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(404)
			w.WriteHeader(500)
		}, 404, ""},
		{"status after body", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "a")
			w.WriteHeader(500)
		}, 200, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, err := handle(t, &heraldv1.HttpRequest{Method: "GET", Uri: "/"}, test.answer)
			if err != nil || out.Status != test.status || string(out.Body) != test.body {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	out, err := handle(t, &heraldv1.HttpRequest{Method: "GET", Uri: "/"}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("set-cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
	})
	if err != nil || len(out.Headers) != 2 || out.Headers[0].Name != "Set-Cookie" || out.Headers[1].Value != "b=2" {
		t.Errorf("headers %v, %v", out.GetHeaders(), err)
	}
}

func TestBodyIsBounded(t *testing.T) {
	t.Parallel()
	for size, want := range map[int]bool{maxBody: false, maxBody + 1: true} {
		in := &heraldv1.HttpRequest{Method: "POST", Uri: "/", Body: []byte(strings.Repeat("x", size))}
		if _, err := handle(t, in, func(_ http.ResponseWriter, r *http.Request) {
			_, err := io.ReadAll(r.Body)
			if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge != want {
				t.Errorf("%d bytes: %v", size, err)
			}
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestMalformedURIsAreRefused(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "ui/", "http://evil.example/ui/", "https:///ui/", "mailto:a@b", "*", "/ui/%zz",
		"/ui/\x7f", "/ui/\x00"} {
		_, err := handle(t, &heraldv1.HttpRequest{Method: "GET", Uri: uri}, func(http.ResponseWriter, *http.Request) {
			t.Errorf("%q was served", uri)
		})
		if !errors.Is(err, fault.ErrInvalidArgument) {
			t.Errorf("%q: %v", uri, err)
		}
	}
	if _, err := handle(t, nil, nil); !errors.Is(err, fault.ErrInvalidArgument) {
		t.Errorf("no request at all: %v", err)
	}
}

func FuzzRequest(f *testing.F) {
	f.Add("GET", "/ui/?a=b", "Cookie", "a=1", []byte("x"))
	f.Add("", "//evil.example/\\", "", "\xff", []byte(nil))
	f.Fuzz(func(t *testing.T, method, uri, name, value string, body []byte) {
		in := &heraldv1.HttpRequest{
			Method: method, Uri: uri, Headers: []*heraldv1.HttpHeader{{Name: name, Value: value}}, Body: body,
		}
		r, err := request(t.Context(), in)
		if err == nil && (r.Host != host || r.URL.Host != "" || !strings.HasPrefix(r.URL.Path, "/")) {
			t.Fatalf("%q became %+v", uri, r.URL)
		}
	})
}

// A page has some of its time left when the calls that it makes have ended, so that it can say what is wrong.
func TestPagesKeepTimeToSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	end, _ := ctx.Deadline()
	left := func(w http.ResponseWriter, r *http.Request) {
		own, _ := r.Context().Deadline()
		_, _ = io.WriteString(w, end.Sub(own).String())
	}
	p := Bridge{Browsers: http.HandlerFunc(left), Programs: http.HandlerFunc(left)}
	in := &heraldv1.HttpRequest{Method: "GET", Uri: "/"}
	page, err := p.ServePage(ctx, &authv1.ServePageRequest{Request: in})
	endpoint, fails := p.ServeEndpoint(ctx, &authv1.ServeEndpointRequest{Request: in})
	if err != nil || fails != nil || string(page.Response.Body) != "500ms" || string(endpoint.Response.Body) != "0s" {
		t.Errorf("left are %v, %v, and for programs %v, %v", page, err, endpoint, fails)
	}
}
