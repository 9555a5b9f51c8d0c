package users_test

import (
	"context"
	"testing"

	"herald/services/users/internal/testworld"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/testkit"
)

// What somebody has planted ends when the user is promoted above that maker: tokens, keys and secrets. Credentials by
// somebody who has the new permissions stay, and so do the user's own.
func TestPlantedCredentialsEndWithThePromotion(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	planter, bot := w.Person(inA, "planter"), w.Machine(inA, "bot")
	w.AddMember(inA, planter, "ORG_OWNER")
	asPlanter := w.Login(inA, planter, "")
	plant := func(ctx context.Context, userID string) string {
		t.Helper()
		made := w.PAT(ctx, userID)
		return made.Token
	}
	planted, administrators := plant(asPlanter, bot), plant(inA, bot)
	loggedIn := w.Caller(inA, bot, "")
	loggedIn.AuthenticatedAt = w.Ground.Now()
	own, err := w.Gateway.AddMyPersonalAccessToken(w.As(loggedIn),
		&usersv1.AddMyPersonalAccessTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := w.Gateway.AddMachineKey(asPlanter, &usersv1.AddMachineKeyRequest{UserId: bot})
	if err != nil {
		t.Fatal(err)
	}
	w.Must(w.SetSecret(asPlanter, bot))
	// A second machine, which itself is promoted, makes one for the first.
	other := w.Machine(inA, "other")
	w.AddMember(inA, other, "ORG_OWNER")
	through, err := w.Resolve(plant(asPlanter, other), "")
	if err != nil {
		t.Fatal(err)
	}
	indirect := plant(w.As(through), bot)
	w.AddIamMember(other, "IAM_OWNER")

	w.AddMember(inA, bot, "ORG_USER_MANAGER") // the planter has all these permissions
	for _, token := range []string{planted, administrators, own.Token, indirect} {
		w.Must(w.Resolve(token, ""))
	}
	w.AddIamMember(bot, "IAM_USER_MANAGER")
	for what, token := range map[string]string{"planted": planted, "planted through another": indirect} {
		if _, err := w.Resolve(token, ""); err == nil {
			t.Errorf("the token %s still works", what)
		}
	}
	for what, token := range map[string]string{"by the administrator": administrators, "of one's own": own.Token} {
		if c, err := w.Resolve(token, ""); err != nil || !c.Can("user.delete", "") {
			t.Errorf("the token %s: %+v, %v", what, c, err)
		}
	}
	_, err = w.Gateway.GetMachineKey(inA, &usersv1.GetMachineKeyRequest{UserId: bot, KeyId: key.KeyId})
	testkit.Refused(t, err, "MACHINE_KEY_NOT_FOUND")
	got, err := w.Gateway.GetUser(inA, &usersv1.GetUserRequest{UserId: bot})
	if err != nil || got.User.GetMachine().HasSecret {
		t.Errorf("%v, %v", got, err)
	}
	// Each end has an event in the user's history, which names the membership's as its cause.
	if n := w.Rows(`events e join events c on c.id = e.data->>'cause' and c.aggregate = 'member' and c.name = 'added'
		where e.history_id = $1 and c.aggregate_id = $1
			and (e.aggregate || '.' || e.name) in ('pat.removed', 'machine_key.removed', 'machine.secret_removed')`,
		bot); n != 4 {
		t.Errorf("%d of 4 events", n)
	}
}

// A code that went to a mailbox of a user manager's choice does not work after the promotion. The code of a mail that
// the promoter requested stays valid.
func TestPlantedCodesEndWithThePromotion(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	manager := w.Person(inA, "manager")
	w.AddMember(inA, manager, "ORG_USER_MANAGER")
	asManager := w.Login(inA, manager, "")
	create := func(ctx context.Context, name string) string {
		t.Helper()
		made, err := w.Gateway.CreateHumanUser(ctx, &usersv1.CreateHumanUserRequest{
			UserName: name, Profile: testworld.Minimal(name).Profile, Email: testworld.Minimal(name).Email,
		})
		if err != nil {
			t.Fatal(err)
		}
		return made.UserId
	}
	planted, wanted := create(asManager, "planted"), create(inA, "wanted")
	codes := map[string]string{planted: w.Mail(planted).Code, wanted: w.Mail(wanted).Code}
	for id := range codes {
		w.AddMember(inA, id, "ORG_OWNER")
	}
	_, err := w.Complete(planted, codes[planted], "correct horse")
	testkit.Refused(t, err, "CODE_WRONG")
	w.Must(w.Complete(wanted, codes[wanted], "correct horse"))
	// No other code is sent to the address that the manager chose, until somebody with the permissions sets it.
	w.Unwritten(func() { w.Request("init", planted) })
	again := &usersv1.ResendInitializationRequest{UserId: planted}
	_, err = w.Gateway.ResendInitialization(inA, again)
	testkit.Refused(t, err, "EMAIL_OUTRANKED")
	again.Email = testworld.Minimal("planted").Email.Email
	w.Must(w.Gateway.ResendInitialization(inA, again))
	w.Must(w.Complete(planted, w.Mail(planted).Code, "correct horse"))

	// The codes to verify an address and to reset a password, of mails that were requested without a login.
	for kind, verified := range map[string]string{"verifyemail": "false", "passwordreset": "true"} {
		id := w.Person(inA, kind)
		w.SetColumns(id, "email_verified = "+verified)
		w.Request(kind, id)
		code := w.Mail(id).Code
		w.AddMember(inA, id, "ORG_OWNER_VIEWER")
		_, err := w.CompleteKind(kind, id, code, "correct horse battery")
		testkit.Refused(t, err, "CODE_WRONG")
	}
}

// A verified address that an owner of the organization chose does not give access to an account that gets a role in the
// instance. A mail is refused until somebody with the permissions sets the address again.
func TestPlantedAddressEndsWithThePromotion(t *testing.T) {
	t.Parallel()
	w := testworld.New(t)
	_, inA := w.Org("A")
	owner, user := w.Person(inA, "owner"), w.Person(inA, "user")
	w.AddMember(inA, owner, "ORG_OWNER")
	asOwner := w.Login(inA, owner, "")
	change := &usersv1.UpdateEmailRequest{UserId: user, Email: "planted@example.com", IsEmailVerified: true}
	w.Must(w.Gateway.UpdateEmail(asOwner, change))
	w.Request("passwordreset", user)
	code := w.Mail(user).Code
	w.AddIamMember(user, "IAM_OWNER")
	_, err := w.CompleteKind("passwordreset", user, code, "correct horse battery")
	testkit.Refused(t, err, "CODE_WRONG")
	w.Unwritten(func() { w.Request("passwordreset", user) })
	_, err = w.Gateway.UpdateEmail(asOwner, change)
	testkit.Refused(t, err, "ESCALATION")
	reset := &usersv1.RequestPasswordResetRequest{UserId: user}
	_, err = w.Gateway.RequestPasswordReset(inA, reset)
	testkit.Refused(t, err, "EMAIL_OUTRANKED")
	w.Must(w.Gateway.UpdateEmail(inA, change))
	if _, err := w.Gateway.RequestPasswordReset(inA, reset); err != nil {
		t.Errorf("the address was set again: %v", err)
	}
}
