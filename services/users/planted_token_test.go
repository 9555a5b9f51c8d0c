package users_test

import (
	"context"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/secret"
)

// plantLogin is how somebody plants a login of a machine user. It returns the credential of its tokens.
var plantLogin = map[string]func(w *world, as context.Context, userID string) string{
	"key": func(w *world, as context.Context, userID string) string {
		w.Helper()
		key, err := w.gateway.AddMachineKey(as, &usersv1.AddMachineKeyRequest{UserId: userID, PublicKey: publicKey})
		if err != nil {
			w.Fatal(err)
		}
		return w.subject(&usersv1.ResolveSubjectRequest{UserId: userID, KeyId: key.KeyId}).Credential
	},
	"secret": func(w *world, as context.Context, userID string) string {
		w.Helper()
		made, err := w.setSecret(as, userID)
		if err != nil {
			w.Fatal(err)
		}
		hash := secret.Hash(made.ClientSecret)
		return w.subject(&usersv1.ResolveSubjectRequest{UserId: userID, SecretHash: hash}).Credential
	},
}

// Hostile case 29: what was made with a token for a planted key or secret ends at the promotion, as these do: whoever
// planted them may know it. What was made with a login of one's own maker's stays.
func TestWhatPlantedLoginsMadeEndsWithThePromotion(t *testing.T) {
	t.Parallel()
	for name, plant := range plantLogin {
		w := newWorld(t)
		_, inA := w.org("A")
		planter, planted, given := w.person(inA, "planter"), w.machine(inA, "planted"), w.machine(inA, "given")
		w.addMember(inA, planter, "ORG_OWNER")
		made := map[string]string{}
		for userID, as := range map[string]context.Context{planted: w.login(inA, planter, ""), given: inA} {
			c := w.caller(inA, userID, "")
			c.TokenID, c.Credential, c.AuthenticatedAt = "", plant(w, as, userID), w.ground.Now()
			pat, err := w.gateway.AddMyPersonalAccessToken(w.as(c), &usersv1.AddMyPersonalAccessTokenRequest{})
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			made[userID] = pat.Token
			w.addIamMember(userID, "IAM_OWNER")
		}
		if _, err := w.resolve(made[planted], ""); err == nil {
			t.Errorf("what a planted %s made still works", name)
		}
		if _, err := w.resolve(made[given], ""); err != nil {
			t.Errorf("what a %s of the administrator made: %v", name, err)
		}
	}
}

// With a login whose key or secret has ended meanwhile nothing is made: nobody would know its makers.
func TestEndedLoginsMakeNothing(t *testing.T) {
	t.Parallel()
	for name, plant := range plantLogin {
		w := newWorld(t)
		id := w.machine(w.admin, "bot")
		c := w.caller(w.admin, id, "")
		c.TokenID, c.Credential, c.AuthenticatedAt = "", plant(w, w.admin, id), w.ground.Now()
		if name == "key" {
			if _, err := w.removeKey(w.admin, id, c.Credential[len("key:"):]); err != nil {
				t.Fatal(err)
			}
		} else if _, err := w.removeSecret(w.admin, id); err != nil {
			t.Fatal(err)
		}
		_, err := w.gateway.AddMyPersonalAccessToken(w.as(c), &usersv1.AddMyPersonalAccessTokenRequest{})
		refused(t, err, "TOKEN_INVALID")
	}
}
