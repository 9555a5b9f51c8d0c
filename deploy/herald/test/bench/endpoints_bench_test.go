package bench_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"testing"

	"herald/deploy/herald/test/whole"
)

// BenchmarkPublicEndpoints compares what every client of OpenID Connect asks for without a token with a bare handler
// of net/http that serves the same bytes.
func BenchmarkPublicEndpoints(b *testing.B) {
	const clients = 16
	i := whole.Start(b, "HERALD_LOG_LEVEL=WARN")
	for name, path := range map[string]string{
		"discovery": "/.well-known/openid-configuration", "keys": "/oauth/v2/keys",
	} {
		response, err := http.Get(i.URL + path)
		check(b, err)
		body, err := io.ReadAll(response.Body)
		check(b, err)
		check(b, response.Body.Close())
		floorURL := startFloorOf(b, floorBody, string(body))
		get := func(url string) func() error {
			client := newClient(clients)
			return func() error { return client.send(http.MethodGet, url, "", "") }
		}
		figure{name, clients, 0.4, get(i.URL + path), get(floorURL)}.measure(b)
	}
}

// floorBody is the environment variable with what a floor in its own process serves.
const floorBody = "HERALD_FLOOR_BODY"

// serveBody serves a text, prints its address, and ends when its input ends.
func serveBody(b *testing.B, body string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(b, err)
	data := []byte(body)
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "public, max-age=300")
		_, _ = w.Write(data)
	})}
	go func() { _ = web.Serve(l) }()
	fmt.Println("http://" + l.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	_ = web.Close()
}
