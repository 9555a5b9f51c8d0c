// Package contract reads the options of the protos. They say who may call a method and what else protects it, its
// paths, the rules of its fields, and which cached callers an event ends. All code that serves, forwards, calls or
// documents methods and events uses this package. If a contract lacks an option that protects a method, the package
// returns an error that says what to add.
package contract

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	heraldv1 "herald/shared/gen/herald/v1"
)

// The scopes of tokens for the platform itself.
const (
	OpenID   = "openid"
	Audience = "urn:service:iam:org:project:id:service:aud"
)

// usual is the time limit of a method whose contract has no limit of its own. It is longer than NATS needs to detect
// a frozen replica, and shorter than a person is willing to wait.
const usual = 7 * time.Second

// self is the prefix of the paths of methods that act on the caller.
const self = "/auth/v1/"

// Method is a method with the options of its contract.
type Method struct {
	protoreflect.MethodDescriptor
	Access *heraldv1.Access
	// Rules are the method's REST paths. A method without REST paths is internal.
	Rules []*annotations.HttpRule
	// Pages are path prefixes. The gateway passes HTTP requests to these paths to the method unchanged.
	Pages []string
	// Posts are more such prefixes, whose POST requests change nothing either.
	Posts []string
	// Programs reports whether the requests to Pages and Posts come from programs and not from browsers.
	Programs bool
	// Scopes are the scopes that the caller's token needs.
	Scopes []string
	// History is the name of the history that the method lists; empty for none.
	History string
	// Streamed reports whether the REST path accepts a body of any size. The method then gets the body in many
	// requests.
	Streamed bool
	// Limit is how long the method may take.
	Limit time.Duration
	// Quota names how many objects the method may create. NoQuota is the reason if there is no such number.
	Quota, NoQuota string
	// Faults are the ids of the faults that callers may get, sorted.
	Faults []string

	// ids are the fields of the request that are part of the REST paths.
	ids []protoreflect.FieldDescriptor
}

// Internal reports whether only services may call the method. All other methods have a REST path.
func (m Method) Internal() bool { return len(m.Rules) == 0 }

// Home reports whether the method acts on the caller's own organization or on no organization. If a request names
// another organization, the name is only checked.
func (m Method) Home() bool { return m.under(self) || m.under("/admin/v1/") }

func (m Method) under(prefix string) bool {
	return slices.ContainsFunc(m.Rules, func(rule *annotations.HttpRule) bool {
		_, path, _ := Route(rule)
		return strings.HasPrefix(path, prefix)
	})
}

// Safe reports whether the method changes nothing (RFC 9110, section 9.2.1). This is the case if its REST paths are
// GETs, or if its idempotency_level is NO_SIDE_EFFECTS.
func (m Method) Safe() bool {
	return m.level() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS || m.has("GET")
}

// Idempotent reports whether sending a request again changes nothing more (RFC 9110, section 9.2.2). This is the case
// if the method is safe, if its REST paths are PUTs or DELETEs, or if its idempotency_level is IDEMPOTENT.
func (m Method) Idempotent() bool {
	return m.Safe() || m.level() == descriptorpb.MethodOptions_IDEMPOTENT || m.has("PUT") || m.has("DELETE")
}

func (m Method) level() descriptorpb.MethodOptions_IdempotencyLevel {
	options, _ := m.Options().(*descriptorpb.MethodOptions)
	return options.GetIdempotencyLevel()
}

// has reports whether the method has REST paths and all of them have that verb.
func (m Method) has(verb string) bool {
	return len(m.Rules) > 0 && !slices.ContainsFunc(m.Rules, func(rule *annotations.HttpRule) bool {
		v, _, _ := Route(rule)
		return v != verb
	})
}

// Procedure is the method's path over gRPC: /herald.users.v1.Users/GetUser.
func (m Method) Procedure() string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// Subject is the NATS subject of the method: rpc.herald.users.v1.Users.GetUser.
func (m Method) Subject() string {
	return "rpc." + strings.ReplaceAll(strings.TrimPrefix(m.Procedure(), "/"), "/", ".")
}

// HedgeSubject is the NATS subject of hedged requests to a safe method: again.herald.users.v1.Users.GetUser. Every
// replica gets these requests.
func (m Method) HedgeSubject() string { return "again." + strings.TrimPrefix(m.Subject(), "rpc.") }

// Owner is the name of the service that has the method: users.
func (m Method) Owner() string {
	return strings.Split(string(m.Parent().FullName()), ".")[1]
}

// Methods returns the methods of a service. It fails if the contract of a method lacks an option that protects it.
func Methods(service protoreflect.ServiceDescriptor) ([]Method, error) {
	var methods []Method
	for i := range service.Methods().Len() {
		m, err := method(service.Methods().Get(i))
		if err != nil {
			return nil, fmt.Errorf("contract of %s: %w", m.FullName(), err)
		}
		methods = append(methods, m)
	}
	return methods, nil
}

// AllMethods returns the methods of all herald services that are linked into the program, sorted by name.
func AllMethods() ([]Method, error) {
	methods, err := linked()
	return slices.Clone(methods), err
}

// linked reads the contracts once, because seven services, their clients and the gateway of one process need them.
var linked = sync.OnceValues(func() ([]Method, error) {
	var methods []Method
	var err error
	protoregistry.GlobalFiles.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			if !strings.HasPrefix(string(f.Package()), "herald.") {
				continue
			}
			var more []Method
			if more, err = Methods(f.Services().Get(i)); err != nil {
				return false
			}
			methods = append(methods, more...)
		}
		return true
	})
	slices.SortFunc(methods, func(a, b Method) int { return strings.Compare(a.Procedure(), b.Procedure()) })
	return methods, err
})

func method(d protoreflect.MethodDescriptor) (Method, error) {
	m := Method{MethodDescriptor: d}
	m.Access, _ = proto.GetExtension(d.Options(), heraldv1.E_Access).(*heraldv1.Access)
	m.History, _ = proto.GetExtension(d.Options(), heraldv1.E_History).(string)
	m.Streamed, _ = proto.GetExtension(d.Options(), heraldv1.E_Streamed).(bool)
	if pages, _ := proto.GetExtension(d.Options(), heraldv1.E_Pages).(*heraldv1.Pages); pages != nil {
		m.Pages, m.Posts, m.Programs = pages.Prefixes, pages.Posts, pages.Programs
	}
	m.Quota, _ = proto.GetExtension(d.Options(), heraldv1.E_Quota).(string)
	m.NoQuota, _ = proto.GetExtension(d.Options(), heraldv1.E_NoQuota).(string)
	if rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule); rule != nil {
		m.Rules = append([]*annotations.HttpRule{rule}, rule.AdditionalBindings...)
	}
	for _, rule := range m.Rules {
		_, path, _ := Route(rule)
		for _, name := range PathFields(path) {
			m.ids = append(m.ids, d.Input().Fields().ByName(protoreflect.Name(name)))
		}
	}
	m.Limit = usual
	if seconds, _ := proto.GetExtension(d.Options(), heraldv1.E_Seconds).(uint32); seconds > 0 {
		m.Limit = time.Duration(seconds) * time.Second
	}
	if m.Scopes = m.Access.GetScopes(); len(m.Scopes) == 0 {
		m.Scopes = []string{OpenID, Audience}
	}
	m.Faults = m.faults()
	return m, m.check()
}

// Route returns the verb, path template and body selector of a rule. They are empty for a verb that Herald does not
// use.
func Route(rule *annotations.HttpRule) (verb, path, body string) {
	switch p := rule.Pattern.(type) {
	case *annotations.HttpRule_Get:
		return "GET", p.Get, rule.Body
	case *annotations.HttpRule_Post:
		return "POST", p.Post, rule.Body
	case *annotations.HttpRule_Put:
		return "PUT", p.Put, rule.Body
	case *annotations.HttpRule_Delete:
		return "DELETE", p.Delete, rule.Body
	}
	return "", "", ""
}

// PathFields returns the fields that a path template has in braces, such as user_id for {user_id}.
func PathFields(template string) []string {
	var fields []string
	for part := range strings.SplitSeq(template, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			fields = append(fields, strings.TrimSuffix(name, "}"))
		}
	}
	return fields
}
