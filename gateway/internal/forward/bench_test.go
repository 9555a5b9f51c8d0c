package forward_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"herald/gateway/internal/testworld"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Compares an answer that everybody may share with one of a bare handler of net/http, at 16 clients in the same
// process.
func BenchmarkShared(b *testing.B) {
	w := testworld.Start(b)
	body := []byte(strings.Repeat("x", 2000))
	w.Auth.Endpoint = func(*heraldv1.HttpRequest) (*heraldv1.HttpResponse, error) {
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
	for name, url := range map[string]string{"bare": bare.URL, "gateway": w.URL} {
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

// fetch requests the keys and discards the answer. It takes less time than the client of net/http.
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
