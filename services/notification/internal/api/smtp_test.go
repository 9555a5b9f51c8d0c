package api_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/services/notification"
	"herald/services/notification/internal/delivery"
	"herald/services/notification/internal/domain"
	"herald/services/notification/internal/testworld"
	"herald/shared/fault"
	notificationv1 "herald/shared/gen/herald/notification/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/secret"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// guarded is a server with a login. Without TLS, because the API can name no file with its certificate.
var guarded = outside.MailConfig{User: "herald", Password: "CANARY-password"}

// toRelay returns settings for the mail server of a world.
func toRelay(w *testworld.World) *notificationv1.SetSmtpRequest {
	w.Helper()
	s, err := domain.ParseServer(secret.NewText(w.Relay.URL()))
	if err != nil {
		w.Fatal(err)
	}
	return &notificationv1.SetSmtpRequest{Url: s.URL, User: s.User, Password: s.Password.Reveal(),
		SenderAddress: "sender@example.com", SenderName: "Zürich, Herald", ReplyTo: "Help <help@example.com>"}
}

// settings is what the tests change.
type settings = notificationv1.SetSmtpRequest

// with returns a changed copy of settings.
func with(r *settings, change func(*settings)) *settings {
	changed := proto.CloneOf(r)
	change(changed)
	return changed
}

func get(w *testworld.World) *notificationv1.Smtp {
	w.Helper()
	r, err := w.GetSmtp(w.Instance(w.Context(), "IAM_OWNER_VIEWER"), &notificationv1.GetSmtpRequest{})
	if err != nil {
		w.Fatal(err)
	}
	return r.Smtp
}

// origins returns the origins of settings that come from one source.
func origins(of heraldv1.SettingSource, variables ...string) (all []*heraldv1.SettingOrigin) {
	for i, field := range []string{"url", "senderAddress", "replyTo"} {
		o := &heraldv1.SettingOrigin{Field: field, Source: of}
		if variables != nil {
			o.Variable = variables[i]
		}
		all = append(all, o)
	}
	return all
}

// Mails wait until a server is set, and are then sent by it. The password is neither returned nor in an event or log.
func TestSmtpIsSet(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Relay: guarded, Config: testworld.ByAPI})
	before := get(w)
	testkit.Equal(t, before, &notificationv1.Smtp{Details: before.Details, SenderAddress: "herald@localhost",
		SenderName: "Herald", Origins: origins(heraldv1.SettingSource_SETTING_SOURCE_DEFAULT)})
	waiting := w.Users.Ask("ada")
	w.Logs.Wait(t, "there is no mail server: set HERALD_SMTP_URL or PUT /admin/v1/smtp")
	r := toRelay(w)
	set := w.Set(r)
	if n := w.Settled(waiting); n.State != notificationv1.NotificationState_NOTIFICATION_STATE_SENT {
		t.Errorf("%v", n)
	}
	m := w.Parse(w.Accepted(1)[0])
	if from := m.Header.Get("From"); !strings.Contains(from, "sender@example.com") {
		t.Errorf("from %s", from)
	}
	after := get(w)
	details := proto.CloneOf(set.Details)
	details.CreationDate = before.Details.CreationDate
	testkit.Equal(t, after, &notificationv1.Smtp{Details: details, Url: r.Url, User: r.User, PasswordSet: true,
		SenderAddress: r.SenderAddress, SenderName: r.SenderName, ReplyTo: r.ReplyTo,
		Origins: origins(heraldv1.SettingSource_SETTING_SOURCE_API)})
	made, changed := details.CreationDate.AsTime(), details.ChangeDate.AsTime()
	if details.Sequence <= before.Details.Sequence || !changed.After(made) {
		t.Errorf("changed by %v", details)
	}

	again := w.Set(with(r, func(r *settings) { r.Password = "" }))
	testkit.Equal(t, again, set)
	w.Set(with(r, func(r *settings) { r.Password, r.SenderName = "", "" }))
	if n := w.Settled(w.Users.Ask("ada")); testworld.Story(n) != "SENT: SENT" { // with the kept password
		t.Errorf("%v", n)
	}
	said := w.Text("select string_agg(aggregate || '.' || name || aggregate_id || actor || data::text, E'\n' " +
		"order by position) from events")
	if want := `smtp.changedinstanceada{"changed": ["url", "user", "password", "senderAddress", "senderName", ` +
		`"replyTo"]}` + "\n" + `smtp.changedinstanceada{"changed": ["senderName"]}`; said != want {
		t.Errorf("the events are %s, want %s", said, want)
	}
	for place, text := range map[string]string{
		"logs": w.Logs.String(), "answers": fmt.Sprint(before, set, after, again), "table": w.Dump("smtp"),
	} {
		if strings.Contains(text, guarded.Password) {
			t.Errorf("the password is in the %s: %s", place, text)
		}
	}
}

// Fields of the environment cannot be set; the answer names the variable. The others can be.
func TestEnvironmentWins(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Relay: guarded, Config: func(c *notification.Config) {
		c.ReplyTo = "Help <help@example.com>"
	}})
	is := get(w)
	r := toRelay(w)
	testkit.Equal(t, is, &notificationv1.Smtp{Details: is.Details, Url: r.Url, User: r.User, PasswordSet: true,
		SenderAddress: "no-reply@example.com", SenderName: "Herald", ReplyTo: "Help <help@example.com>",
		Origins: origins(heraldv1.SettingSource_SETTING_SOURCE_ENVIRONMENT, "HERALD_SMTP_URL",
			"HERALD_MAIL_FROM", "HERALD_MAIL_REPLY_TO")})
	_, err := w.SetSmtp(w.Instance(t.Context(), "IAM_OWNER"), &settings{Url: "smtp://x.example:25"})
	testkit.Refused(t, err, "SMTP_SET_BY_ENVIRONMENT", "HERALD_SMTP_URL")
	_, err = w.TestSmtp(w.Instance(t.Context(), "IAM_OWNER"), &notificationv1.TestSmtpRequest{
		Recipient: "ada@example.com", Smtp: &notificationv1.SetSmtpRequest{SenderAddress: "x@example.com"},
	})
	testkit.Refused(t, err, "SMTP_SET_BY_ENVIRONMENT", "HERALD_MAIL_FROM")
	w.Set(&notificationv1.SetSmtpRequest{Url: is.Url, User: is.User, SenderAddress: is.SenderAddress,
		SenderName: is.SenderName, ReplyTo: is.ReplyTo})
	if n := w.Count("events"); n != 0 {
		t.Errorf("what is there already was set again: %s", w.Dump("events"))
	}
}

func TestSmtpIsRefused(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Relay: guarded, Config: testworld.ByAPI})
	good := toRelay(w)
	set := w.Set(good)
	for name, test := range map[string]struct {
		change    func(*notificationv1.SetSmtpRequest)
		id, field string
	}{
		"another server": {func(r *settings) { r.Url, r.Password = "smtp://x.example.com:25", "" },
			"SMTP_PASSWORD_REQUIRED", "password"},
		"another user": {func(r *settings) { r.User, r.Password = "eve", "" },
			"SMTP_PASSWORD_REQUIRED", "password"},
		"no server":     {func(r *settings) { r.Reset() }, "SMTP_INVALID", "url"},
		"another place": {func(r *settings) { r.Url = "http://x.example.com:25" }, "SMTP_INVALID", "url"},
		"no port":       {func(r *settings) { r.Url = "smtp://x.example.com" }, "SMTP_INVALID", "url"},
		"in the clear": {func(r *settings) { r.Url = "smtp://x.example.com:25?starttls=off" },
			"SMTP_INVALID", "url"},
		"no sender": {func(r *settings) { r.SenderAddress = "x" }, "SMTP_INVALID", "senderAddress"},
		"a sender with a name": {func(r *settings) { r.SenderAddress = "X <x@example.com>" },
			"SMTP_INVALID", "senderAddress"},
		"two for answers": {func(r *settings) { r.ReplyTo = "a@example.com, b@example.com" },
			"SMTP_INVALID", "replyTo"},
		"control characters": {func(r *settings) { r.SenderName = "a\r\nBcc: x@example.com" },
			"INVALID_ARGUMENT", "senderName"},
		"long": {func(r *settings) { r.Password = strings.Repeat("x", 1001) },
			"INVALID_ARGUMENT", "password"},
	} {
		t.Run(name, func(t *testing.T) {
			r := with(good, test.change)
			owner := w.Instance(t.Context(), "IAM_OWNER")
			_, err := w.SetSmtp(owner, r)
			testkit.Refused(t, err, test.id)
			if f := fault.From(err); len(f.Fields) != 1 || f.Fields[0].Path != test.field {
				t.Errorf("%+v", f)
			}
			_, err = w.TestSmtp(owner, &notificationv1.TestSmtpRequest{Smtp: r, Recipient: "ada@example.com"})
			testkit.Refused(t, err, test.id)
		})
	}
	for ctx, role := range map[context.Context]string{
		w.Instance(t.Context(), "IAM_OWNER_VIEWER"): "IAM_OWNER_VIEWER", w.As("ORG_OWNER"): "ORG_OWNER",
	} {
		_, err := w.SetSmtp(ctx, good)
		testkit.Refused(t, err, "PERMISSION_DENIED")
		_, err = w.TestSmtp(ctx, &notificationv1.TestSmtpRequest{Recipient: "ada@example.com"})
		testkit.Refused(t, err, "PERMISSION_DENIED")
		if _, err = w.GetSmtp(ctx, &notificationv1.GetSmtpRequest{}); role == "ORG_OWNER" {
			testkit.Refused(t, err, "PERMISSION_DENIED")
		}
	}
	if is := get(w); is.Details.Sequence != set.Details.Sequence || w.Count("notifications") != 0 {
		t.Errorf("changed to %v", is)
	}
}

// A test mail is sent with settings that are not live, and says what the server answers. They stay as they were.
func TestSmtpIsTried(t *testing.T) {
	t.Parallel()
	w := testworld.New(t, testworld.Setup{Relay: guarded, Config: testworld.ByAPI, Times: func(x *delivery.Times) {
		x.TestMail = 300 * time.Millisecond
	}})
	try := func(r *settings) (string, string) {
		t.Helper()
		tried, err := w.TestSmtp(w.Instance(t.Context(), "IAM_OWNER"),
			&notificationv1.TestSmtpRequest{Smtp: r, Recipient: "ada@example.com"})
		if err != nil {
			t.Fatal(err)
		}
		return testworld.Story(tried.Notification), tried.Notification.Attempts[0].Reply
	}
	good := toRelay(w)
	silent := outside.StartMailServer(t, outside.MailConfig{}, outside.MailFault{At: outside.Greeting, Hang: true})
	for _, test := range []struct {
		settings     *notificationv1.SetSmtpRequest
		story, reply string
	}{
		{nil, "FAILED: FAILED", "there is no mail server"},
		{good, "SENT: SENT", "250 2.0.0 accepted"},
		{with(good, func(r *settings) { r.Password = "wrong" }), "FAILED: FAILED",
			"the mail relay refused the user name or password (535 5.7.8"},
		{with(good, func(r *settings) { r.Url += "?starttls=required" }), "FAILED: FAILED",
			"the mail relay does not offer STARTTLS"},
		{&notificationv1.SetSmtpRequest{Url: silent.URL()}, "FAILED: FAILED", "the mail relay did not answer in time"},
	} {
		if story, reply := try(test.settings); story != test.story || !strings.HasPrefix(reply, test.reply) {
			t.Errorf("%v: %s, %s", test.settings, story, reply)
		}
	}
	if m := w.Parse(w.Accepted(1)[0]); !strings.Contains(m.Header.Get("From"), good.SenderAddress) {
		t.Errorf("from %s", m.Header.Get("From"))
	}
	if is := get(w); is.Url != "" || is.Details.Sequence != 0 {
		t.Errorf("changed to %v", is)
	}
	for range domain.MostTests - 5 {
		try(nil)
	}
	_, err := w.TestSmtp(w.Instance(t.Context(), "IAM_OWNER"),
		&notificationv1.TestSmtpRequest{Smtp: good, Recipient: "eve@example.com"})
	testkit.Refused(t, err, "TOO_MANY_TEST_MAILS")
	_, err = w.TestMail(t.Context(), "eve@example.com")
	testkit.Refused(t, err, "TOO_MANY_TEST_MAILS")
	if n := w.Relay.Count(outside.RCPT); n != 1 {
		t.Errorf("the server got %d recipients", n)
	}
}
