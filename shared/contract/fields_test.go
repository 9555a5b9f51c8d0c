package contract_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/shared/contract"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	usersv1 "herald/shared/gen/herald/users/v1"
)

func TestValidatePaths(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]proto.Message{
		"queries[1].userNameQuery.method": &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
			{UserNameQuery: &usersv1.UserNameQuery{}}, {UserNameQuery: &usersv1.UserNameQuery{Method: 99}},
		}},
		"queries[0]": &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{{}}},
		"roles":      &usersv1.AddMemberRequest{UserId: "u"},
		"metadata[0].key": &usersv1.HumanUserData{
			UserName: "u", Profile: &usersv1.Profile{FirstName: "f", LastName: "l"}, Email: &usersv1.Email{},
			Metadata: []*usersv1.Metadata{{}},
		},
	} {
		t.Run(want, func(t *testing.T) {
			f, ok := errors.AsType[*fault.Fault](contract.Validate(m))
			if !ok || f.ID != "INVALID_ARGUMENT" {
				t.Fatalf("got %v", f)
			}
			if len(f.Fields) != 1 || f.Fields[0].Path != want {
				t.Errorf("fields %v, want %s", f.Fields, want)
			}
		})
	}
	if err := contract.Validate(&usersv1.GetUserRequest{}); err != nil {
		t.Error(err)
	}
	if len(fault.ErrInvalidArgument.Fields) != 0 {
		t.Error("the declared fault was altered")
	}
}

// Over gRPC and Connect a request can lack an id that a REST path always has. No method gets such a request.
func TestCheckNamesMissingIDs(t *testing.T) {
	t.Parallel()
	methods, err := contract.AllMethods()
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, m := range methods {
		for _, name := range []string{m.Access.GetProject(), m.Access.GetActsOn()} {
			if name == "" {
				continue
			}
			checked++
			want := m.Input().Fields().ByName(protoreflect.Name(name)).JSONName() + ": must not be empty"
			f := fault.From(m.Check(dynamicpb.NewMessage(m.Input())))
			if f.ID != "INVALID_ARGUMENT" || !strings.Contains(f.Message, want) {
				t.Errorf("%s: %v, want %q", m.FullName(), f, want)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d ids were seen", checked)
	}
}

// Names that look alike are the same name or are refused.
func TestValidateInvisible(t *testing.T) {
	t.Parallel()
	for _, r := range "\u200b\u00ad\u202e\u2060\u200d\ufeff\ufe0f\u034f\u115f\u3164\uffa0\u180e\U000e0100\U000e0041" {
		m := &usersv1.CreateHumanUserRequest{
			UserName: "mi" + string(r) + "ni", Email: &usersv1.Email{Email: "mini@example.com"},
			Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse" + string(r)},
		}
		f := fault.From(contract.Validate(m))
		if f.ID != "INVALID_ARGUMENT" || f.Message != "userName: must hold no invisible or control characters; "+
			"profile.lastName: must hold no invisible or control characters" {
			t.Errorf("%U: %v", r, f)
		}
	}
	for _, name := range []string{
		"Mini", "Müller", "日本", "🙂", "a b", "é", "e\u0301", "李", "می\u200cخواهم", "क्\u200dष", "ශ්\u200dරී",
	} {
		if err := contract.Validate(&usersv1.CreateOrgRequest{Name: name}); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// A joiner is refused where no reader can see that it is there.
func TestJoinersStandBetweenLettersOfTheirScripts(t *testing.T) {
	t.Parallel()
	for name, seen := range map[string]string{
		"می\u200cخواهم":       "می\u200cخواهم",
		"می\u200c\u200cخواهم": "میخواهم",
		"\u200cمی\u200c":      "می",
		"می\u200c ":           "می ",
		"mi\u200cni":          "mini",
		"می\u200cni":          "میni",
		"\u0661\u200c\u0661":  "\u0661\u0661", // digits
		"क्\u200d\u094dष":     "क्\u094dष",
		"日\u200d本":            "日本",
	} {
		t.Run(strconv.QuoteToASCII(name), func(t *testing.T) {
			t.Parallel()
			if got := contract.Seen(name); got != seen {
				t.Errorf("seen is %+q, want %+q", got, seen)
			}
		})
	}
}

// The refusal of a text that cannot be stored names its field.
func TestNameUnstorable(t *testing.T) {
	t.Parallel()
	for want, m := range map[string]proto.Message{
		"userId":   &usersv1.AddMemberRequest{UserId: "a\x00", Roles: []string{"ORG_OWNER"}},
		"roles[1]": &usersv1.AddMemberRequest{UserId: "a", Roles: []string{"ORG_OWNER", "\x00"}},
		"queries[0].userNameQuery.userName": &usersv1.SearchUsersRequest{Queries: []*usersv1.UserFilter{
			{UserNameQuery: &usersv1.UserNameQuery{UserName: "\x00"}},
		}},
	} {
		t.Run(want, func(t *testing.T) {
			f := contract.NameUnstorable(fault.ErrInvalidArgument, m)
			if f.ID != "INVALID_ARGUMENT" || len(f.Fields) != 1 || f.Fields[0].Path != want ||
				!strings.Contains(f.Fields[0].Reason, "NUL") {
				t.Errorf("got %v", f)
			}
		})
	}
}

// The refusal of a wrong value says in plain words what to send.
func TestValidateReasons(t *testing.T) {
	t.Parallel()
	user := func(change func(*usersv1.HumanUserData)) proto.Message {
		m := &usersv1.HumanUserData{
			UserName: "mini", Profile: &usersv1.Profile{FirstName: "Mini", LastName: "Mouse"},
			Email: &usersv1.Email{Email: "mini@example.com"},
		}
		change(m)
		return m
	}
	for want, m := range map[string]proto.Message{
		"userName: must have 1 to 200 characters": user(func(m *usersv1.HumanUserData) { m.UserName = " " }),
		"userName: must have 1 to 200 characters ": user(func(m *usersv1.HumanUserData) {
			m.UserName = strings.Repeat("é", 201)
		}),
		"userName: must hold no invisible or control characters": user(func(m *usersv1.HumanUserData) {
			m.UserName = "mi\tni"
		}),
		"profile: is required": user(func(m *usersv1.HumanUserData) { m.Profile = nil }),
		"profile.gender: must be one of GENDER_UNSPECIFIED, GENDER_FEMALE, GENDER_MALE, GENDER_DIVERSE": user(
			func(m *usersv1.HumanUserData) { m.Profile.Gender = 9 }),
		"phone.phone: must be a phone number in the form +41791234567: + and 2 to 15 digits": user(
			func(m *usersv1.HumanUserData) { m.Phone = &usersv1.Phone{Phone: "041"} }),
		"metadata[0].value: must have at most 65536 bytes": user(func(m *usersv1.HumanUserData) {
			m.Metadata = []*usersv1.Metadata{{Key: "k", Value: make([]byte, 65537)}}
		}),
		"roles: must have 1 to 20 elements": &usersv1.AddMemberRequest{UserId: "u"},
		"roles: must not hold the same value twice": &usersv1.AddMemberRequest{
			UserId: "u", Roles: []string{"ORG_OWNER", "ORG_OWNER"},
		},
		"userId: must not be empty": &usersv1.AddMemberRequest{Roles: []string{"ORG_OWNER"}},
		"queries[0]: names no filter": &usersv1.SearchUsersRequest{
			Queries: []*usersv1.UserFilter{{}},
		},
		"queries[0].stateQuery.state: must be one of USER_STATE_ACTIVE, USER_STATE_INACTIVE, USER_STATE_LOCKED, " +
			"USER_STATE_INITIAL": &usersv1.SearchUsersRequest{
			Queries: []*usersv1.UserFilter{{StateQuery: &usersv1.UserStateQuery{}}},
		},
		"clockSkew: must be 0s to 5s": &projectsv1.CreateOidcAppRequest{
			ProjectId: "p", Name: "n", ClockSkew: durationpb.New(time.Minute),
		},
	} {
		t.Run(want, func(t *testing.T) {
			if f := fault.From(contract.Validate(m)); f.Message != strings.TrimSpace(want) {
				t.Errorf("said %q, want %q", f.Message, want)
			}
		})
	}
}

// A list of 50,000 elements costs next to nothing, and so does its answer.
//
//nolint:paralleltest // it counts allocations
func TestValidateLongLists(t *testing.T) {
	long := &usersv1.SearchUsersRequest{Queries: make([]*usersv1.UserFilter, 50_000)}
	for i := range long.Queries {
		long.Queries[i] = &usersv1.UserFilter{}
	}
	f := fault.From(contract.Validate(long))
	if f.Message != "queries: must have at most 20 elements" || len(f.Fields) != 1 {
		t.Errorf("said %q on %d fields", f.Message, len(f.Fields))
	}
	if n := testing.AllocsPerRun(10, func() { _ = contract.Validate(long) }); n > 100 {
		t.Errorf("%v allocations for a list that is too long", n)
	}
	flawed := &projectsv1.AddProjectRolesRequest{ProjectId: "p", Roles: make([]*projectsv1.NewProjectRole, 200)}
	for i := range flawed.Roles {
		flawed.Roles[i] = &projectsv1.NewProjectRole{Key: "\x01"}
	}
	f = fault.From(contract.Validate(flawed))
	if len(f.Fields) != 20 || !strings.HasSuffix(f.Message, "; and more") {
		t.Errorf("%d flaws of 200 told: %q", len(f.Fields), f.Message)
	}
}
