package machines_test

import (
	"context"
	"encoding/hex"
	"regexp"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// secretRows returns 1 if the hash of a secret is stored for a user, else 0.
func secretRows(w *testworld.World, userID, clientSecret string) int {
	w.Helper()
	return w.Rows("users where id = $1 and secret_hash = $2", userID, hex.EncodeToString(secret.Hash(clientSecret)))
}

func TestMachineSecrets(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	_, err := w.RemoveSecret(w.Admin, id)
	testkit.Refused(t, err, "SECRET_NOT_FOUND")
	first, err := w.SetSecret(w.Admin, id)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[a-zA-Z0-9]{64}$`).MatchString(first.ClientSecret) || first.ClientId != id ||
		secretRows(w, id, first.ClientSecret) != 1 {
		t.Errorf("client %q", first.ClientId)
	}
	got := w.User(id)
	if !got.GetMachine().HasSecret || got.Details.Sequence != first.Details.Sequence ||
		!got.Details.ChangeDate.AsTime().Equal(first.Details.ChangeDate.AsTime()) || first.Details.CreationDate != nil {
		t.Errorf("%v after %v", got, first.Details)
	}
	second, err := w.SetSecret(w.Admin, id)
	if err != nil || second.ClientSecret == first.ClientSecret || secretRows(w, id, first.ClientSecret) != 0 ||
		secretRows(w, id, second.ClientSecret) != 1 {
		t.Errorf("the old secret stays: %v", err)
	}
	// A change of the name keeps the secret.
	if _, err := w.Gateway.UpdateMachineUser(w.Admin, &usersv1.UpdateMachineUserRequest{
		UserId: id, UserName: "ci", Name: "CI",
	}); err != nil || secretRows(w, id, second.ClientSecret) != 1 {
		t.Errorf("the secret went with the name: %v", err)
	}
	gone, err := w.RemoveSecret(w.Admin, id)
	now := w.User(id)
	if err != nil || now.GetMachine().HasSecret || !proto.Equal(now.Details.ChangeDate, gone.ChangeDate) ||
		w.Rows("users where secret_hash <> ''") != 0 {
		t.Errorf("%v, %v", gone, err)
	}
	history, err := w.Gateway.SearchUserChanges(w.Admin, &usersv1.SearchUserChangesRequest{UserId: id})
	by := " by " + w.AdminID
	if err != nil || !slices.Equal(testworld.EventTypes(history), []string{
		"machine.secret_removed" + by, "machine.changed" + by, "machine.secret_set" + by, "machine.secret_set" + by,
		"machine.created" + by,
	}) {
		t.Errorf("%v, %v", history, err)
	}
}

func TestMachineSecretsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	person, asleep := w.Person(w.Admin, "mini"), w.Machine(w.Admin, "asleep")
	w.Must(w.SetSecret(w.Admin, asleep))
	_, in := w.Org("A")
	for out, back := range map[string]string{"deactivated": "reactivated", "locked": "unlocked"} {
		w.Must(w.Moves()[out](w.Admin, asleep))
		before := w.Rows("events")
		for userID, want := range map[string]string{
			person: "USER_NOT_MACHINE", asleep: "USER_NOT_ACTIVE", "nobody": "USER_NOT_FOUND",
		} {
			_, err := w.SetSecret(w.Admin, userID)
			testkit.Refused(t, err, want)
		}
		for userID, want := range map[string]string{person: "USER_NOT_MACHINE", "nobody": "USER_NOT_FOUND"} {
			_, err := w.RemoveSecret(w.Admin, userID)
			testkit.Refused(t, err, want)
		}
		_, err := w.SetSecret(in, asleep)
		testkit.Refused(t, err, "USER_NOT_FOUND")
		_, err = w.RemoveSecret(in, asleep)
		testkit.Refused(t, err, "USER_NOT_FOUND")
		if w.Rows("events") != before || !w.User(asleep).GetMachine().HasSecret {
			t.Errorf("%s: something was written", out)
		}
		w.Must(w.Moves()[back](w.Admin, asleep))
	}
	w.Must(w.Moves()["locked"](w.Admin, asleep))
	w.Must(w.RemoveSecret(w.Admin, asleep))
}

// Of many secrets that are set at once the last one is valid. Of many removals at once one
// succeeds.
func TestMachineSecretsAtOnce(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	id := w.Machine(w.Admin, "ci")
	made := make([]*usersv1.SetMachineSecretResponse, 20)
	if n := testkit.Race(t, 20, func(i int) (err error) {
		made[i], err = w.SetSecret(w.Admin, id)
		return err
	}); n != 20 {
		t.Fatalf("%d of 20 secrets", n)
	}
	last := slices.MaxFunc(made, func(a, b *usersv1.SetMachineSecretResponse) int {
		return int(a.Details.Sequence) - int(b.Details.Sequence)
	})
	if secretRows(w, id, last.ClientSecret) != 1 {
		t.Error("the last secret is not the one that counts")
	}
	testkit.Once(t, 20, func(int) error {
		_, err := w.RemoveSecret(w.Admin, id)
		return err
	}, "SECRET_NOT_FOUND")
}

// credentialCalls makes all calls that add or remove a key or a secret of a machine, and returns
// their errors.
func credentialCalls(ctx context.Context, w *testworld.World, userID, keyID string) map[string]error {
	_, added := w.AddKey(ctx, userID, testworld.PublicKey)
	_, removed := w.RemoveKey(ctx, userID, keyID)
	_, set := w.SetSecret(ctx, userID)
	_, ended := w.RemoveSecret(ctx, userID)
	return map[string]error{"add a key": added, "remove a key": removed, "set a secret": set, "end it": ended}
}

// Callers cannot add or remove credentials of a machine if they lack a permission of the machine or
// the one for credentials. A machine itself needs a login with its key or secret.
func TestMachineCredentialsProtected(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	orgA, in := w.Org("A")
	id, owner := w.Machine(in, "ci"), w.Machine(in, "owner")
	w.AddMember(in, id, "ORG_OWNER")
	w.AddIamMember(owner, "IAM_OWNER")
	keys := map[string]string{}
	for _, userID := range []string{id, owner} {
		made, err := w.AddKey(in, userID, testworld.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		w.Must(w.SetSecret(in, userID))
		keys[userID] = made.KeyId
	}
	itself := w.Caller(in, id, orgA)
	manager := w.Person(in, "manager")
	w.AddMember(in, manager, "ORG_USER_MANAGER")
	events := w.Rows("events where aggregate in ('machine', 'machine_key')")
	for label, c := range map[string]struct {
		ctx    context.Context
		userID string
		want   string
	}{
		"its token":        {w.As(itself), id, "FRESH_LOGIN_REQUIRED"},
		"a user manager":   {w.Login(in, manager, orgA), id, "PERMISSION_DENIED"},
		"an owner's owner": {w.As(itself), owner, "ESCALATION"},
	} {
		t.Run(label, func(t *testing.T) {
			for call, err := range credentialCalls(c.ctx, w, c.userID, keys[c.userID]) {
				t.Log(label, call)
				testkit.Refused(t, err, c.want)
			}
		})
	}
	itself.AuthenticatedAt = w.Ground.Now().Add(-11 * time.Minute)
	for _, err := range credentialCalls(w.As(itself), w, id, keys[id]) {
		testkit.Refused(t, err, "FRESH_LOGIN_REQUIRED")
	}
	if w.Rows("events where aggregate in ('machine', 'machine_key')") != events {
		t.Error("something was written")
	}
	itself.AuthenticatedAt = w.Ground.Now().Add(-time.Minute)
	for call, err := range credentialCalls(w.As(itself), w, id, keys[id]) {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}
