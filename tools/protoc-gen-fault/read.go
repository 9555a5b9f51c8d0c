package main

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// declared is a fault as the template shows it.
type declared struct {
	Name, Code, ID, Message, Field, Reason string
	Comment                                []string
	Status, After                          uint64
}

// codes are the names of package fault for the codes of the contracts.
var codes = map[string]string{
	"INVALID_ARGUMENT": "Invalid", "DEADLINE_EXCEEDED": "Deadline", "NOT_FOUND": "NotFound", "ALREADY_EXISTS": "Exists",
	"PERMISSION_DENIED": "Denied", "RESOURCE_EXHAUSTED": "Exhausted", "FAILED_PRECONDITION": "Precondition",
	"UNIMPLEMENTED": "Unimplemented", "INTERNAL": "Internal", "UNAVAILABLE": "Unavailable",
	"UNAUTHENTICATED": "Unauthenticated",
}

// read returns the faults of an enum. It refuses ids that another enum has.
func read(enum protoreflect.EnumDescriptor, ids map[protoreflect.Name]protoreflect.FullName) ([]declared, error) {
	var all []declared
	for i := 1; i < enum.Values().Len(); i++ {
		value := enum.Values().Get(i)
		if other, taken := ids[value.Name()]; taken {
			return nil, fmt.Errorf("%s stands in %s too", value.Name(), other)
		}
		ids[value.Name()] = enum.FullName()
		f := declared{Name: nameOf(string(value.Name())), ID: string(value.Name())}
		value.Options().ProtoReflect().Range(func(option protoreflect.FieldDescriptor, v protoreflect.Value) bool {
			if option.FullName() == "herald.v1.fault" {
				f.fill(v.Message())
			}
			return true
		})
		if f.Code == "" || f.Message == "" {
			return nil, fmt.Errorf("%s lacks its code or its message", f.ID)
		}
		for line := range strings.Lines(enum.ParentFile().SourceLocations().ByDescriptor(value).LeadingComments) {
			f.Comment = append(f.Comment, strings.TrimSpace(line))
		}
		all = append(all, f)
	}
	return all, nil
}

func (f *declared) fill(option protoreflect.Message) {
	fields := option.Descriptor().Fields()
	get := func(name protoreflect.Name) protoreflect.Value { return option.Get(fields.ByName(name)) }
	code := fields.ByName("code").Enum().Values().ByNumber(get("code").Enum())
	f.Code, f.Message = codes[string(code.Name())], get("message").String()
	f.Field, f.Reason = get("field").String(), get("reason").String()
	f.Status, f.After = get("http_status").Uint(), get("retry_after").Uint()
}

// initialisms are the words that Go's names have in upper case.
var initialisms = []string{"API", "IAM", "ID", "JSON", "OIDC", "OTP", "PAT"}

// nameOf returns the Go name of an id: ErrUserNotFound for USER_NOT_FOUND.
func nameOf(id string) string {
	name := "Err"
	for word := range strings.SplitSeq(id, "_") {
		if !slices.Contains(initialisms, word) {
			word = word[:1] + strings.ToLower(word[1:])
		}
		name += word
	}
	return name
}

// checkMethods refuses a method whose option herald.v1.faults has an id that no enum has.
func checkMethods(services protoreflect.ServiceDescriptors, ids map[protoreflect.Name]protoreflect.FullName) error {
	for i := range services.Len() {
		for n := range services.Get(i).Methods().Len() {
			method := services.Get(i).Methods().Get(n)
			for _, id := range faultsOf(method) {
				if _, known := ids[protoreflect.Name(id)]; !known {
					return fmt.Errorf("no enum Fault has the value %s of herald.v1.faults of %s", id, method.Name())
				}
			}
		}
	}
	return nil
}

// faultsOf returns the values of a method's option herald.v1.faults.
func faultsOf(method protoreflect.MethodDescriptor) (ids []string) {
	method.Options().ProtoReflect().Range(func(option protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if option.FullName() == "herald.v1.faults" {
			for i := range v.List().Len() {
				ids = append(ids, v.List().Get(i).String())
			}
		}
		return true
	})
	return ids
}
