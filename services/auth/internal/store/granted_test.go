package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// granted is the event of what people give applications here.
var granted = &authv1.AuthorizationGranted{UserId: "u1", ClientId: "web"}

// given returns the ids of the authorizations with an event that a person gave them, and those that are there.
func (w world) given() (events, there []string) {
	w.Helper()
	for sql, into := range map[string]*[]string{
		`select coalesce(array_agg(aggregate_id order by aggregate_id), '{}') from events
			where aggregate = 'authorization' and name = 'granted' and organization_id = 'o1'`: &events,
		`select coalesce(array_agg(id order by id), '{}') from authorizations`: &there,
	} {
		w.must(w.db.QueryRow(w.Context(), sql).Scan(into))
	}
	return events, there
}

// Each authorization that a person gives has one event. What is refused has none, also if it is asked for many times at
// once: a request is answered once, and so is a device.
func TestEachGrantHasOneEvent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	given := func(id string) domain.Authorization {
		a := authorization(id, "u1", time.Hour)
		a.ClientID, a.OrgID, a.SessionID, a.Scopes = "web", "o1", "s1", []string{"openid", "email"}
		return a
	}
	code := func(request, id string) error {
		return w.IssueCode(t.Context(), request, given(id),
			domain.NewCode{Hash: []byte(id), ExpiresAt: now.Add(time.Minute)}, granted)
	}
	if err := code("", "early"); !errors.Is(err, domain.ErrRequestGone) {
		t.Errorf("without a session: %v", err)
	}
	w.enter(session("s1", "u1"))
	w.must(code("", "a"))
	var actor string
	w.must(w.db.QueryRow(t.Context(), `select actor from events where aggregate_id = 'a'`).Scan(&actor))
	if actor != "u1" {
		t.Errorf("the actor is %q", actor)
	}
	if err := code("gone", "b"); !errors.Is(err, domain.ErrRequestGone) {
		t.Errorf("an unknown request: %v", err)
	}
	w.must(w.AddAuthRequest(t.Context(), domain.AuthRequest{
		ID: "r", ClientID: "web", Scopes: []string{}, Prompts: []string{}, ExpiresAt: now.Add(time.Hour),
	}))
	if _, err := w.AddDevice(t.Context(), domain.NewDevice{Hash: []byte("d"), UserCode: "CODE", ClientID: "tv",
		Scopes: []string{}, ExpiresAt: now.Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	for _, ask := range []struct {
		name string
		once func(id string) error
		late error
	}{
		{"request", func(id string) error { return code("r", id) }, domain.ErrRequestGone},
		{
			"device", func(id string) error { return w.LetIn(t.Context(), "CODE", given(id), granted) },
			domain.ErrUnknown,
		},
	} {
		var all sync.WaitGroup
		failed := make(chan error, 20)
		for i := range cap(failed) {
			all.Go(func() { failed <- ask.once(fmt.Sprint(ask.name, i)) })
		}
		all.Wait()
		close(failed)
		answered := 0
		for err := range failed {
			if err == nil {
				answered++
			} else if !errors.Is(err, ask.late) {
				t.Errorf("%s: %v", ask.name, err)
			}
		}
		if answered != 1 {
			t.Errorf("%s was answered %d times", ask.name, answered)
		}
	}
	if events, there := w.given(); len(there) != 3 || fmt.Sprint(events) != fmt.Sprint(there) {
		t.Errorf("events of %v, authorizations %v", events, there)
	}
}
