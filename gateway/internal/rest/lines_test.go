package rest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"herald/gateway/internal/testworld"
	"herald/shared/contract"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// audit stands in for the service with the events. A page has three of them.
type audit struct {
	testkit.Unguarded
	events int
	// before is called with the position that a page comes after.
	before func(after int) error
	mu     sync.Mutex
	asked  []*usersv1.SearchEventsRequest
}

func (a *audit) SearchEvents(
	_ context.Context, r *usersv1.SearchEventsRequest,
) (*usersv1.SearchEventsResponse, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r)
	after, _ := strconv.Atoi(r.After)
	if err := a.before(after); err != nil {
		return nil, err
	}
	page := &usersv1.SearchEventsResponse{}
	for n := after + 1; n <= min(after+3, a.events); n++ {
		page.Result = append(page.Result, &usersv1.AuditEvent{Position: strconv.Itoa(n), Type: "user.created"})
	}
	return page, nil
}

func (a *audit) SearchInstanceEvents(
	ctx context.Context, r *usersv1.SearchEventsRequest,
) (*usersv1.SearchEventsResponse, error) {
	return a.SearchEvents(ctx, r)
}

const events = "/management/v1/events/_search"

func startAudit(t *testing.T, n int) (*testworld.World, *audit) {
	t.Helper()
	w, a := testworld.Start(t), &audit{events: n, before: func(int) error { return nil }}
	testkit.Serve(t, w.Ground, "users", a, &usersv1.Audit_ServiceDesc)
	return w, a
}

// Who accepts lines gets all results, each on a line; others get a page.
func TestLinesHaveAllResults(t *testing.T) {
	t.Parallel()
	w, a := startAudit(t, 8)
	got := w.Do(t, "POST", events, `{"limit":3,"asc":true}`,
		testworld.As(w.Owner(), "Accept", "text/csv;q=0.5, Application/X-NDJSON")...).OK(t)
	if h := got.Header; h.Get("Content-Type") != "application/x-ndjson" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", h)
	}
	n := 0
	for line := range strings.Lines(string(got.Text)) {
		n++
		var event struct{ Position string }
		if err := json.Unmarshal([]byte(line), &event); err != nil || event.Position != strconv.Itoa(n) {
			t.Errorf("line %d: %q, %v", n, line, err)
		}
	}
	if n != 8 {
		t.Errorf("%d lines", n)
	}
	for i, r := range a.asked {
		if r.Limit != 3 || !r.Asc || (i > 0) != (r.After != "") {
			t.Errorf("page %d: %v", i, r)
		}
	}
	got = w.Do(t, "POST", events, `{}`, testworld.As(w.Owner(), "Accept", "application/json")...).OK(t)
	if got.Header.Get("Content-Type") != "application/json" || len(a.asked) != 5 {
		t.Errorf("%v, %d pages", got.Header, len(a.asked))
	}
}

// No results are an empty answer, and a request that is refused has the usual one.
func TestLinesOfNothing(t *testing.T) {
	t.Parallel()
	w, _ := startAudit(t, 0)
	accept := []string{"Accept", "application/x-ndjson"}
	if got := w.Do(t, "POST", events, "", testworld.As(w.Owner(), accept...)...).OK(t); len(got.Text) != 0 {
		t.Errorf("%q", got.Text)
	}
	w.Do(t, "POST", events, `{"limit":"x"}`, testworld.As(w.Owner(), accept...)...).Refused(t, 400, "INVALID_ARGUMENT")
	w.Do(t, "POST", events, "", accept...).Refused(t, 401, "UNAUTHENTICATED")
	viewer := w.Token("u2", []string{"PROJECT_OWNER"}, contract.OpenID, contract.Audience)
	w.Do(t, "POST", events, "", testworld.As(viewer, accept...)...).Refused(t, 403, "PERMISSION_DENIED")
	search := w.Do(t, "POST", "/management/v1/users/_search", "", testworld.As(w.Owner(), accept...)...).OK(t)
	if search.Header.Get("Content-Type") != "application/json" {
		t.Errorf("a search without positions: %v", search.Header)
	}
}

// An answer that cannot be finished does not look finished: because a service is away, or because the caller may not
// read any more.
func TestLinesThatEndEarlyAreBrokenOff(t *testing.T) {
	t.Parallel()
	w, a := startAudit(t, 8)
	for name, end := range map[string]func(token string) error{
		"away":    func(string) error { return fault.ErrUnavailable },
		"revoked": func(token string) error { w.Revoke(token); return fault.ErrPermissionDenied },
	} {
		token := w.Token("u3", []string{"ORG_OWNER"}, contract.OpenID, contract.Audience)
		a.before = func(after int) error {
			if after < 6 {
				return nil
			}
			return end(token)
		}
		r, err := http.NewRequestWithContext(t.Context(), "POST", w.URL+events, strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Accept", "application/x-ndjson")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err == nil || answer.StatusCode != http.StatusOK || strings.Count(string(text), "\n") != 6 {
			t.Errorf("%s: %d, %v, %q", name, answer.StatusCode, err, text)
		}
	}
}
