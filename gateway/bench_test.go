package gateway_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Measures the gateway alone: a service that does nothing and a cached caller, with 8 clients a core
// in the same process.
func BenchmarkREST(b *testing.B) {
	w := start(b)
	token := w.owner()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	for _, c := range []struct{ name, method, path, body string }{
		{"read", "GET", "/management/v1/users/u1", ""},
		{"search", "POST", "/management/v1/users/_search", `{"query":{"limit":50},"queries":[{"userNameQuery":{"userName":"alice","method":"TEXT_QUERY_METHOD_CONTAINS"}}]}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetParallelism(8)
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					r, err := http.NewRequestWithContext(b.Context(), c.method, w.url+c.path, strings.NewReader(c.body))
					if err != nil {
						b.Error(err)
						return
					}
					r.Header.Set("Authorization", "Bearer "+token)
					response, err := client.Do(r)
					if err != nil {
						b.Error(err)
						return
					}
					_, _ = io.Copy(io.Discard, response.Body)
					response.Body.Close()
					if response.StatusCode != 200 {
						b.Errorf("status %d", response.StatusCode)
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

func BenchmarkGRPC(b *testing.B) {
	w := start(b)
	users := usersv1.NewUsersClient(w.dial(b))
	ctx := metadata.AppendToOutgoingContext(b.Context(), "authorization", "Bearer "+w.owner())
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := users.GetUser(ctx, &usersv1.GetUserRequest{UserId: "u1"}); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// Compares an answer that everybody may share with one of a bare handler of net/http, at 16 clients in the same
// process.
func BenchmarkShared(b *testing.B) {
	w := start(b)
	body := []byte(strings.Repeat("x", 2000))
	w.auth.endpoint = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
		return &heraldv1.HttpResponse{Status: 200, Body: body, Headers: []*heraldv1.HttpHeader{
			{Name: "Content-Type", Value: "application/json"}, {Name: "Cache-Control", Value: "public, max-age=3600"},
		}}, nil
	}
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=3600")
		_, _ = w.Write(body)
	}))
	b.Cleanup(bare.Close)
	for name, url := range map[string]string{"bare": bare.URL, "gateway": w.url} {
		b.Run(name, func(b *testing.B) {
			b.SetParallelism(max(1, 16/runtime.GOMAXPROCS(0)))
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
				if err != nil {
					b.Error(err)
					return
				}
				defer c.Close()
				for in := bufio.NewReader(c); pb.Next(); {
					if err := fetch(c, in, len(body)); err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

// fetch asks for the keys and skips the answer, for less than the client of net/http takes.
func fetch(c io.Writer, in *bufio.Reader, size int) error {
	if _, err := io.WriteString(c, "GET /oauth/v2/keys HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		return err
	}
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if len(line) == len("\r\n") {
			_, err = in.Discard(size)
			return err
		}
	}
}
