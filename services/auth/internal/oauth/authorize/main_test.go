package authorize_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"testing"

	"herald/services/auth/internal/testworld"
)

func TestMain(m *testing.M) { os.Exit(testworld.Kit.Main(m)) }

// failed fails the test unless the client gets that error, with the state of its request and no code.
func failed(t testing.TB, got url.Values, code string) {
	t.Helper()
	if got.Get("error_description") == "" {
		t.Error("the error has no description")
	}
	got.Del("error_description")
	want := url.Values{"error": {code}, "state": {"st"}, "iss": {testworld.Public}}
	if !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("%v, want %v", got, want)
	}
}

// shown fails the test unless an answer is a page with an error, which sends the browser nowhere.
func shown(t testing.TB, got *httptest.ResponseRecorder) {
	t.Helper()
	if got.Code != http.StatusBadRequest || got.Header().Get("Location") != "" {
		t.Errorf("%d %v", got.Code, got.Header())
	}
}
