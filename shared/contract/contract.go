// Package contract reads what the protos say about methods: who may call them, where
// they are and which rules their fields have. Everybody who serves, carries, calls or
// documents methods asks it, so that a method is described in one place only.
package contract

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	heraldv1 "herald/shared/gen/herald/v1"
	"herald/shared/permission"
)

// Method is what a contract says about one of its methods.
type Method struct {
	protoreflect.MethodDescriptor
	Access *heraldv1.Access
	// Rules are the method's REST paths; a method without any is internal.
	Rules []*annotations.HttpRule
	// Pages are path prefixes whose requests the method answers unread.
	Pages []string

	// ids are the request's fields that the REST paths hold.
	ids []protoreflect.FieldDescriptor
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
			return nil, fmt.Errorf("contract of %s: %w", service.Methods().Get(i).FullName(), err)
		}
		methods = append(methods, m)
	}
	return methods, nil
}

// All reads every herald contract that is linked into the program, by name.
func All() ([]Method, error) {
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
	return m, m.check()
}

func (m Method) check() error {
	a := m.Access
	set, queries := 0, m.Input().Fields().ByName("queries")
	for _, given := range []bool{
		a.GetPermission() != "", a.GetAuthenticated(), a.GetPublic(), len(a.GetInternal()) > 0,
	} {
		if given {
			set++
		}
	}
	switch {
	case m.IsStreamingClient() || m.IsStreamingServer():
		return errors.New("streams are not carried over NATS")
	case set != 1:
		return fmt.Errorf("herald.v1.access must say exactly one of permission, authenticated, public, internal")
	case a.Permission != "" && !permission.Known(a.Permission):
		return fmt.Errorf("no role holds the permission %q", a.Permission)
	case a.Project != "" && m.Input().Fields().ByName(protoreflect.Name(a.Project)) == nil:
		return fmt.Errorf("the request has no field %q", a.Project)
	case queries != nil && !filters(queries.Message()):
		return errors.New("an element of queries has the option herald.v1.filter")
	case len(a.Internal) > 0 && len(m.Rules) > 0:
		return fmt.Errorf("an internal method has no REST path")
	case len(a.Forwarded) > 0 && a.Permission == "" && !a.Authenticated:
		return fmt.Errorf("only a user's call is forwarded")
	case len(a.Internal) == 0 && len(m.Rules) == 0:
		return fmt.Errorf("a public method needs a REST path")
	}
	return nil
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
