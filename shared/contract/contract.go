// Package contract reads what the protos say: who may call a method and what else
// protects it, where it is and which rules its fields have, whom an event concerns.
// Everybody who serves, carries, calls or documents methods and events asks it, so that
// each is described in one place only. A contract that forgets what protects is refused
// with a sentence that says what to add.
package contract

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	heraldv1 "herald/shared/gen/herald/v1"
)

// The scopes of tokens for the platform itself.
const (
	OpenID   = "openid"
	Audience = "urn:service:iam:org:project:id:service:aud"
)

// self begins the paths of what is the caller's own.
const self = "/auth/v1/"

// Method is what a contract says about one of its methods.
type Method struct {
	protoreflect.MethodDescriptor
	Access *heraldv1.Access
	// Rules are the method's REST paths; a method without any is internal.
	Rules []*annotations.HttpRule
	// Pages are path prefixes whose requests the method answers unread.
	Pages []string
	// Scopes are those that a token needs.
	Scopes []string
	// History names the events that the method lists; empty for none.
	History string

	// ids are the request's fields that the REST paths hold.
	ids []protoreflect.FieldDescriptor
}

// Home reports whether the method acts on the caller's own organization or on none: one
// that a request names is checked and changes nothing.
func (m Method) Home() bool { return m.under(self) || m.under("/admin/v1/") }

func (m Method) under(prefix string) bool {
	return slices.ContainsFunc(m.Rules, func(rule *annotations.HttpRule) bool {
		_, path, _ := Route(rule)
		return strings.HasPrefix(path, prefix)
	})
}

// Procedure is the method's path over gRPC: /herald.users.v1.Users/GetUser.
func (m Method) Procedure() string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// Subject is where the method listens on NATS: rpc.herald.users.v1.Users.GetUser.
func (m Method) Subject() string { return Subject(m.Procedure()) }

// Owner is the name of the service that answers: users.
func (m Method) Owner() string {
	return strings.Split(string(m.Parent().FullName()), ".")[1]
}

// Subject is where the method with that procedure listens on NATS.
func Subject(procedure string) string {
	return "rpc." + strings.ReplaceAll(strings.TrimPrefix(procedure, "/"), "/", ".")
}

// Methods reads a contract, with the faults that would let a method run unguarded.
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

// AllMethods reads every herald contract that is linked into the program, by name.
func AllMethods() ([]Method, error) {
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
}

func method(d protoreflect.MethodDescriptor) (Method, error) {
	m := Method{MethodDescriptor: d}
	m.Access, _ = proto.GetExtension(d.Options(), heraldv1.E_Access).(*heraldv1.Access)
	m.History, _ = proto.GetExtension(d.Options(), heraldv1.E_History).(string)
	if pages, _ := proto.GetExtension(d.Options(), heraldv1.E_Pages).(*heraldv1.Pages); pages != nil {
		m.Pages = pages.Prefixes
	}
	if rule, _ := proto.GetExtension(d.Options(), annotations.E_Http).(*annotations.HttpRule); rule != nil {
		m.Rules = append([]*annotations.HttpRule{rule}, rule.AdditionalBindings...)
	}
	for _, rule := range m.Rules {
		_, path, _ := Route(rule)
		for _, name := range PathFields(path) {
			m.ids = append(m.ids, d.Input().Fields().ByName(protoreflect.Name(name)))
		}
	}
	if m.Scopes = m.Access.GetScopes(); len(m.Scopes) == 0 {
		m.Scopes = []string{OpenID, Audience}
	}
	return m, m.check()
}

// Route is the verb, path template and body selector of a REST path.
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

// PathFields lists the request fields that a REST path template binds: {user_id}.
func PathFields(template string) []string {
	var fields []string
	for part := range strings.SplitSeq(template, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			fields = append(fields, strings.TrimSuffix(name, "}"))
		}
	}
	return fields
}
