package mailer_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/shared/event"
	usersv1 "herald/shared/gen/herald/users/v1"
	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/mail"
	"herald/shared/mailer"
	"herald/shared/testkit"
)

var kit = testkit.New("users", fstest.MapFS{"migrations/001_nothing.sql": {Data: []byte("select 1")}})

func TestMain(m *testing.M) { os.Exit(kit.Main(m)) }

// contracts returns the events of users.
func contracts(t *testing.T) (all []protoreflect.MessageType) {
	t.Helper()
	messages := usersv1.File_herald_users_v1_events_proto.Messages()
	for i := range messages.Len() {
		if proto.HasExtension(messages.Get(i).Options(), heraldv1.E_Event) {
			m, err := protoregistry.GlobalTypes.FindMessageByName(messages.Get(i).FullName())
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}

// with returns messages of an event by the kind of mail that they ask for; "" for none.
func with(t protoreflect.MessageType) map[string][]proto.Message {
	fields := t.Descriptor().Fields()
	variants := map[string][]proto.Message{"": {t.New().Interface()}}
	set := func(kind string, field protoreflect.FieldDescriptor, v protoreflect.Value) {
		m := t.New()
		m.Set(field, v)
		variants[kind] = append(variants[kind], m.Interface())
	}
	if f := fields.ByName("mail"); f != nil {
		for _, kind := range mail.Kinds() {
			set(string(kind), f, protoreflect.ValueOfString(string(kind)))
		}
	}
	if f := fields.ByName("notice"); f != nil {
		for _, kind := range mail.Kinds() {
			set("notice "+string(kind), f, protoreflect.ValueOfString(string(kind)))
		}
	}
	if f := fields.ByName("init_mail"); f != nil {
		set("init", f, protoreflect.ValueOfEnum(usersv1.InitMail_INIT_MAIL_QUEUED.Number()))
		set("", f, protoreflect.ValueOfEnum(usersv1.InitMail_INIT_MAIL_NOT_NEEDED.Number()))
	}
	return variants
}

// shownBy fills in whose history shows an event, where its contract asks for that.
func shownBy(m proto.Message, id string) {
	d := m.ProtoReflect().Descriptor()
	option, _ := proto.GetExtension(d.Options(), heraldv1.E_Event).(*heraldv1.Event)
	if f := d.Fields().ByName(protoreflect.Name(option.GetHistoryOf())); f != nil {
		m.ProtoReflect().Set(f, protoreflect.ValueOfString(id))
	}
}

// Every event of users that names a mail asks for it, and none of the others asks.
func TestHandlers(t *testing.T) {
	t.Parallel()
	db := kit.Pool(t)
	now := time.Now().Truncate(time.Microsecond)
	journal := event.Journal{DB: db, Now: func() time.Time { return now }, Committed: func(event.Event) {}}
	asking := 0
	for _, contract := range contracts(t) {
		for kind, variants := range with(contract) {
			for _, m := range variants {
				aggregate := string(contract.Descriptor().Name()) + " " + m.(interface{ String() string }).String()
				shownBy(m, aggregate)
				save := event.Statement{AggregateID: aggregate, OrganizationID: "o1", EventID: "e1"}
				if _, err := journal.Create(t.Context(), m, save); err != nil {
					t.Fatal(err)
				}
				var want, got []string
				id := "e1"
				if notice, ok := strings.CutPrefix(kind, "notice "); ok {
					id, kind = mailer.NoticeID(id), notice
				}
				if kind != "" {
					want, asking = []string{kind}, asking+1
				}
				past := event.Past{OrganizationID: "o1", HistoryID: aggregate, Since: now, Most: 5}
				err := journal.Recall(t.Context(), past,
					mailer.Handlers(func(_ context.Context, d event.Delivery, kind mail.Kind) error {
						if d.ID != id || mailer.IsNotice(id) != (id != "e1") ||
							d.AggregateID != aggregate || d.OrganizationID != "o1" ||
							!d.Time.Equal(now) {
							t.Errorf("%s: %+v", aggregate, d)
						}
						got = append(got, string(kind))
						return nil
					})...)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%s asks for %q, %v, want %q", aggregate, got, err, want)
				}
			}
		}
	}
	if asking < 12 {
		t.Errorf("only %d events with a mail", asking)
	}
}

// The early events of the notifier are exactly those that may ask for a mail.
func TestMailsAreEarly(t *testing.T) {
	for _, e := range contracts(t) {
		option, _ := proto.GetExtension(e.Descriptor().Options(), heraldv1.E_Event).(*heraldv1.Event)
		fields := e.Descriptor().Fields()
		asks := fields.ByName("mail") != nil || fields.ByName("notice") != nil || fields.ByName("init_mail") != nil
		if early := option.GetEarlyFor() == "notification"; early != asks {
			t.Errorf("%s may ask for a mail: %v; its early_for is %q", e.Descriptor().Name(), asks,
				option.GetEarlyFor())
		}
	}
}
