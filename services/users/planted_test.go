package users_test

import (
	"context"
	"testing"

	usersv1 "herald/shared/gen/herald/users/v1"
)

// Hostile case 29: what somebody has planted ends when the user is promoted above that maker: tokens, keys and
// secrets. What one made who has the new permissions stays, and so does one's own.
func TestPlantedCredentialsEndWithThePromotion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	planter, bot := w.person(inA, "planter"), w.machine(inA, "bot")
	w.addMember(inA, planter, "ORG_OWNER")
	asPlanter := w.login(inA, planter, "")
	plant := func(ctx context.Context, userID string) string {
		t.Helper()
		made, err := w.gateway.AddPersonalAccessToken(ctx, &usersv1.AddPersonalAccessTokenRequest{UserId: userID})
		if err != nil {
			t.Fatal(err)
		}
		return made.Token
	}
	planted, given := plant(asPlanter, bot), plant(inA, bot)
	loggedIn := w.caller(inA, bot, "")
	loggedIn.AuthenticatedAt = w.ground.Now()
	own, err := w.gateway.AddMyPersonalAccessToken(w.as(loggedIn),
		&usersv1.AddMyPersonalAccessTokenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := w.gateway.AddMachineKey(asPlanter, &usersv1.AddMachineKeyRequest{UserId: bot})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.setSecret(asPlanter, bot); err != nil {
		t.Fatal(err)
	}
	// A second machine, which itself is promoted, makes one for the first.
	other := w.machine(inA, "other")
	w.addMember(inA, other, "ORG_OWNER")
	through, err := w.resolve(plant(asPlanter, other), "")
	if err != nil {
		t.Fatal(err)
	}
	roundAbout := plant(w.as(through), bot)
	w.addIamMember(other, "IAM_OWNER")

	w.addMember(inA, bot, "ORG_USER_MANAGER") // the planter may all of that
	for _, token := range []string{planted, given, own.Token, roundAbout} {
		if _, err := w.resolve(token, ""); err != nil {
			t.Fatal(err)
		}
	}
	w.addIamMember(bot, "IAM_USER_MANAGER")
	for what, token := range map[string]string{"planted": planted, "planted through another": roundAbout} {
		if _, err := w.resolve(token, ""); err == nil {
			t.Errorf("the token %s still works", what)
		}
	}
	for what, token := range map[string]string{"by the administrator": given, "of one's own": own.Token} {
		if c, err := w.resolve(token, ""); err != nil || !c.Can("user.delete", "") {
			t.Errorf("the token %s: %+v, %v", what, c, err)
		}
	}
	_, err = w.gateway.GetMachineKey(inA, &usersv1.GetMachineKeyRequest{UserId: bot, KeyId: key.KeyId})
	refused(t, err, "MACHINE_KEY_NOT_FOUND")
	got, err := w.gateway.GetUser(inA, &usersv1.GetUserRequest{UserId: bot})
	if err != nil || got.User.GetMachine().HasSecret {
		t.Errorf("%v, %v", got, err)
	}
	// Each end has an event in the user's history, which names the membership's as its cause.
	if n := w.rows(`events e join events c on c.id = e.data->>'cause' and c.aggregate = 'member' and c.name = 'added'
		where e.history_id = $1 and c.aggregate_id = $1
			and (e.aggregate || '.' || e.name) in ('pat.removed', 'machine_key.removed', 'machine.secret_removed')`,
		bot); n != 4 {
		t.Errorf("%d of 4 events", n)
	}
}

// Hostile case 29: a code that went to a mailbox of a user manager's choice is of no use after the promotion. The
// code of a mail that the promoter asked for stays.
func TestPlantedCodesEndWithThePromotion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	manager := w.person(inA, "manager")
	w.addMember(inA, manager, "ORG_USER_MANAGER")
	asManager := w.login(inA, manager, "")
	create := func(ctx context.Context, name string) string {
		t.Helper()
		made, err := w.gateway.CreateHumanUser(ctx, &usersv1.CreateHumanUserRequest{
			UserName: name, Profile: minimal(name).Profile, Email: minimal(name).Email,
		})
		if err != nil {
			t.Fatal(err)
		}
		return made.UserId
	}
	planted, wanted := create(asManager, "planted"), create(inA, "wanted")
	codes := map[string]string{planted: w.mail(planted).Code, wanted: w.mail(wanted).Code}
	for id := range codes {
		w.addMember(inA, id, "ORG_OWNER")
	}
	_, err := w.complete(planted, codes[planted], "correct horse")
	refused(t, err, "CODE_WRONG")
	if _, err := w.complete(wanted, codes[wanted], "correct horse"); err != nil {
		t.Error(err)
	}
	// No other code goes to the address that the manager chose, until somebody sets it who may.
	w.unwritten(func() { w.request("init", planted) })
	again := &usersv1.ResendInitializationRequest{UserId: planted}
	_, err = w.gateway.ResendInitialization(inA, again)
	refused(t, err, "EMAIL_OUTRANKED")
	again.Email = minimal("planted").Email.Email
	if _, err := w.gateway.ResendInitialization(inA, again); err != nil {
		t.Fatal(err)
	}
	if _, err := w.complete(planted, w.mail(planted).Code, "correct horse"); err != nil {
		t.Error(err)
	}

	// An address that is to be verified, and a password to be reset, both by a mail asked for without login.
	for kind, verified := range map[string]string{"verifyemail": "false", "passwordreset": "true"} {
		id := w.person(inA, kind)
		w.setColumns(id, "email_verified = "+verified)
		w.request(kind, id)
		code := w.mail(id).Code
		w.addMember(inA, id, "ORG_OWNER_VIEWER")
		_, err := w.completeKind(kind, id, code, "correct horse battery")
		refused(t, err, "CODE_WRONG")
	}
}

// Hostile case 29: a verified address that an owner of the organization chose is no way into an account that gets a
// role in the instance. The user is told, and sets the address again.
func TestPlantedAddressEndsWithThePromotion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, inA := w.org("A")
	owner, user := w.person(inA, "owner"), w.person(inA, "user")
	w.addMember(inA, owner, "ORG_OWNER")
	asOwner := w.login(inA, owner, "")
	change := &usersv1.UpdateEmailRequest{UserId: user, Email: "planted@example.com", IsEmailVerified: true}
	if _, err := w.gateway.UpdateEmail(asOwner, change); err != nil {
		t.Fatal(err)
	}
	w.request("passwordreset", user)
	code := w.mail(user).Code
	w.addIamMember(user, "IAM_OWNER")
	_, err := w.completeKind("passwordreset", user, code, "correct horse battery")
	refused(t, err, "CODE_WRONG")
	w.unwritten(func() { w.request("passwordreset", user) })
	_, err = w.gateway.UpdateEmail(asOwner, change)
	refused(t, err, "ESCALATION")
	reset := &usersv1.RequestPasswordResetRequest{UserId: user}
	_, err = w.gateway.RequestPasswordReset(inA, reset)
	refused(t, err, "EMAIL_OUTRANKED")
	if _, err := w.gateway.UpdateEmail(inA, change); err != nil {
		t.Fatal(err)
	}
	if _, err := w.gateway.RequestPasswordReset(inA, reset); err != nil {
		t.Errorf("the address was set again: %v", err)
	}
}
