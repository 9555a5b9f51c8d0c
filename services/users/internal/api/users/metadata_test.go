package users_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/testkit"
)

func note(ctx context.Context, w *testworld.World, userID, key, value string) (*heraldv1.ObjectDetails, error) {
	r, err := w.Gateway.SetUserMetadata(ctx, &usersv1.SetUserMetadataRequest{UserId: userID, Key: key,
		Value: []byte(value)})
	return r.GetDetails(), err
}

func noted(w *testworld.World, userID, key string) (*usersv1.UserMetadata, error) {
	r, err := w.Gateway.GetUserMetadata(w.Admin, &usersv1.GetUserMetadataRequest{UserId: userID, Key: key})
	return r.GetMetadata(), err
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	r := testworld.Minimal("mini")
	r.Metadata = []*usersv1.Metadata{{Key: "size", Value: []byte("s")}}
	imported := w.Import(w.Admin, r)
	id := imported.UserId
	if m, err := noted(w, id, "size"); err != nil || string(m.Value) != "s" ||
		!proto.Equal(m.Details, imported.Details) {
		t.Errorf("of the import: %v, %v", m, err)
	}
	changed, err := note(w.Admin, w, id, "size", "m")
	if err != nil || changed.Sequence <= imported.Details.Sequence || changed.CreationDate != nil {
		t.Fatalf("%v, %v", changed, err)
	}
	w.Happened(id, "metadata_set", `{"key": "size"}`)
	w.Unwritten(func() {
		if again, err := note(w.Admin, w, id, "size", "m"); err != nil || !proto.Equal(again, changed) {
			t.Errorf("the same again answered %v, %v; want %v", again, err, changed)
		}
	})
	empty, err := note(w.Admin, w, id, "a/b ü", "")
	if m, _ := noted(w, id, "a/b ü"); err != nil || len(m.GetValue()) != 0 || !proto.Equal(m.GetDetails(), empty) {
		t.Errorf("an empty value: %v, %v; read %v", empty, err, m)
	}
	list, err := w.Gateway.SearchUserMetadata(w.Admin, &usersv1.SearchUserMetadataRequest{UserId: id,
		Query: &heraldv1.ListQuery{Asc: true}})
	if err != nil || list.Details.TotalResult != 2 || list.Result[0].Key != "size" ||
		list.Result[0].Details.Sequence != changed.Sequence {
		t.Errorf("%v, %v", list, err)
	}
	if u := w.User(id); !proto.Equal(u.Details, imported.Details) {
		t.Errorf("the user has moved: %v", u.Details)
	}
	remove := &usersv1.RemoveUserMetadataRequest{UserId: id, Key: "size"}
	w.Must(w.Gateway.RemoveUserMetadata(w.Admin, remove))
	_, err = w.Gateway.RemoveUserMetadata(w.Admin, remove)
	testkit.Refused(t, err, "METADATA_NOT_FOUND")
	_, err = noted(w, id, "size")
	testkit.Refused(t, err, "METADATA_NOT_FOUND")
	w.Happened(id, "metadata_removed", `{"key": "size"}`)
}

func TestMetadataRefuses(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id, owner := w.Person(w.Admin, "mini"), w.Person(w.Admin, "owner")
	w.AddMember(w.Admin, id, "ORG_USER_MANAGER")
	w.AddMember(w.Admin, owner, "ORG_OWNER")
	asManager := w.Login(w.Admin, id, "")
	_, elsewhere := w.Org("Elsewhere")
	for _, c := range []struct {
		ctx                    context.Context
		user, key, value, want string
	}{
		{w.Admin, "nobody", "size", "m", "USER_NOT_FOUND"}, {elsewhere, id, "size", "m", "USER_NOT_FOUND"},
		{asManager, owner, "size", "m", "ESCALATION"},
		{w.Admin, id, "a\nb", "m", "INVALID_ARGUMENT"}, {w.Admin, id, strings.Repeat("a", 201), "m", "NOT_FOUND"},
		{w.Admin, id, "size", strings.Repeat("a", 1<<16+1), "INVALID_ARGUMENT"},
	} {
		w.Unwritten(func() {
			_, err := note(c.ctx, w, c.user, c.key, c.value)
			testkit.Refused(t, err, c.want)
		})
	}
	// At the maximum no key is added, whether the calls come at once or one after another. Values
	// can be changed.
	for i := range 90 {
		w.Must(note(w.Admin, w, id, fmt.Sprint(i), strings.Repeat("a", 1<<16)))
	}
	if n := testkit.Race(t, 20, func(i int) error {
		_, err := note(w.Admin, w, id, fmt.Sprint(90+i), strings.Repeat("a", 1<<16))
		return err
	}, "METADATA_LIMIT"); n != 10 {
		t.Errorf("%d of 20 found room for 10", n)
	}
	w.Must(note(w.Admin, w, id, "0", "b"))
	if list, err := w.Gateway.SearchUserMetadata(w.Admin, &usersv1.SearchUserMetadataRequest{UserId: id}); err != nil ||
		len(list.Result) != 100 {
		t.Errorf("%d are listed, %v", len(list.GetResult()), err)
	}
}

// Of many calls at once that set the same value of a new key one writes an event.
func TestMetadataAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Person(w.Admin, "mini")
	if n := testkit.Race(t, 20, func(int) error { _, err := note(w.Admin, w, id, "size", "m"); return err }); n != 20 ||
		w.Rows("events where name = 'metadata_set'") != 1 {
		t.Errorf("%d succeeded, %d were written", n, w.Rows("events where name = 'metadata_set'"))
	}
}
