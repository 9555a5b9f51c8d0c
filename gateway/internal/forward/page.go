package forward

import (
	"net/http"
	"unicode/utf8"

	heraldv1 "herald/shared/gen/herald/v1"
)

// pageHeaders are the headers that pages may read. Host is not one of them: pages know their own
// origin from the configuration.
var pageHeaders = []string{
	"Accept-Language", "Content-Type", "Cookie", "Origin",
	"Sec-Fetch-Dest", "Sec-Fetch-Mode", "Sec-Fetch-Site", "Sec-Fetch-User", "User-Agent",
}

// copyPageHeaders leaves out values that protobuf cannot encode, such as a cookie that another program on the same host
// has set.
func copyPageHeaders(m *heraldv1.HttpRequest, h http.Header) error {
	for _, name := range pageHeaders {
		for _, v := range h[name] {
			if utf8.ValidString(v) {
				m.Headers = append(m.Headers, &heraldv1.HttpHeader{Name: name, Value: v})
			}
		}
	}
	return nil
}
