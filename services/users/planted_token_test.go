package users_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
)

// plantLogin is how somebody plants a login of a machine user. It returns the credential of its tokens.
var plantLogin = map[string]func(w *testworld.World, as context.Context, userID string) string{
	"key": func(w *testworld.World, as context.Context, userID string) string {
		w.Helper()
		key, err := w.Gateway.AddMachineKey(as, &usersv1.AddMachineKeyRequest{
			UserId: userID, PublicKey: testworld.PublicKey})
		if err != nil {
			w.Fatal(err)
		}
		return w.Subject(&usersv1.ResolveSubjectRequest{UserId: userID, KeyId: key.KeyId}).Credential
	},
	"secret": func(w *testworld.World, as context.Context, userID string) string {
		w.Helper()
		made, err := w.SetSecret(as, userID)
		if err != nil {
			w.Fatal(err)
		}
		hash := secret.Hash(made.ClientSecret)
		return w.Subject(&usersv1.ResolveSubjectRequest{UserId: userID, SecretHash: hash}).Credential
	},
}

// A token that was made with a planted key or secret ends at the promotion, as the key or secret does, because whoever
// planted it may know the token. A token that was made with a credential of the administrator stays.
func TestWhatPlantedLoginsMadeEndsWithThePromotion(t *testing.T) {
	t.Parallel()
	for name, plant := range plantLogin {
		w := testworld.New(t)
		_, inA := w.Org("A")
		planter, planted, managed := w.Person(inA, "planter"), w.Machine(inA, "planted"), w.Machine(inA, "managed")
		w.AddMember(inA, planter, "ORG_OWNER")
		made := map[string]string{}
		for userID, as := range map[string]context.Context{planted: w.Login(inA, planter, ""), managed: inA} {
			c := w.Caller(inA, userID, "")
			c.TokenID, c.Credential, c.AuthenticatedAt = "", plant(w, as, userID), w.Ground.Now()
			pat, err := w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			made[userID] = pat.Token
			w.AddIamMember(userID, "IAM_OWNER")
		}
		if _, err := w.Resolve(made[planted], ""); err == nil {
			t.Errorf("what a planted %s made still works", name)
		}
		if _, err := w.Resolve(made[managed], ""); err != nil {
			t.Errorf("what a %s of the administrator made: %v", name, err)
		}
	}
}

// A login whose key or secret has ended makes nothing, because the makers would not be known.
func TestEndedLoginsMakeNothing(t *testing.T) {
	t.Parallel()
	for name, plant := range plantLogin {
		w := testworld.New(t)
		id := w.Machine(w.Admin, "bot")
		c := w.Caller(w.Admin, id, "")
		c.TokenID, c.Credential, c.AuthenticatedAt = "", plant(w, w.Admin, id), w.Ground.Now()
		if name == "key" {
			w.Must(w.RemoveKey(w.Admin, id, c.Credential[len("key:"):]))
		} else {
			w.Must(w.RemoveSecret(w.Admin, id))
		}
		_, err := w.Gateway.AddMyPersonalAccessToken(w.As(c), &usersv1.AddMyPersonalAccessTokenRequest{})
		testkit.Refused(t, err, "TOKEN_INVALID")
	}
}
