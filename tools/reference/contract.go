package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/api/annotations"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/shared/contract"
)

// Contract is the parsed protos with their comments.
type Contract struct {
	// Operations are the REST paths, sorted by path and verb.
	Operations []Operation
	// Services are the services with operations, sorted by name.
	Services []protoreflect.ServiceDescriptor
	// Internal are the methods without a REST path.
	Internal []contract.Method
	// Events are the published messages, sorted by channel.
	Events []contract.Event
	// Protos are the names of the files, such as herald/users/v1/users.proto, without those that
	// every compiler has.
	Protos []string

	files *protoregistry.Files
}

// Operation is one REST path of a method.
type Operation struct {
	contract.Method
	Verb string
	// Path is the template with JSON names: /management/v1/users/{userId}.
	Path string
	// Bound are the request's fields that are in the path.
	Bound []string
	// Body reports that the request's other fields are in the body, not in the query.
	Body bool
	// ID is unique among all operations: Users_GetUser.
	ID string
}

// Read parses an image with comments that buf built.
func Read(image []byte) (*Contract, error) {
	var set descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(image, &set); err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	files, err := protodesc.NewFiles(&set)
	if err != nil {
		return nil, fmt.Errorf("image: %w", err)
	}
	c := Contract{files: files}
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		if !strings.HasPrefix(f.Path(), "google/protobuf/") && !internal(f.Path()) {
			c.Protos = append(c.Protos, f.Path())
		}
		if strings.HasPrefix(f.Path(), "herald/") {
			err = c.add(f)
		}
		return err == nil
	})
	slices.SortFunc(c.Operations, func(a, b Operation) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Verb, b.Verb))
	})
	slices.SortFunc(c.Services, func(a, b protoreflect.ServiceDescriptor) int {
		return cmp.Compare(a.FullName(), b.FullName())
	})
	slices.Sort(c.Protos)
	if err != nil {
		return nil, err
	}
	c.Events, err = contract.Events(files)
	return &c, err
}

func (c *Contract) add(f protoreflect.FileDescriptor) error {
	for i := range f.Services().Len() {
		methods, err := contract.Methods(f.Services().Get(i))
		if err != nil {
			return err
		}
		before := len(c.Operations)
		for _, m := range methods {
			if m.Internal() {
				c.Internal = append(c.Internal, m)
			}
			for n, rule := range m.Rules {
				c.Operations = append(c.Operations, operation(m, n, rule))
			}
		}
		if len(c.Operations) > before {
			c.Services = append(c.Services, f.Services().Get(i))
		}
	}
	return nil
}

func operation(m contract.Method, n int, rule *annotations.HttpRule) Operation {
	verb, path, body := contract.Route(rule)
	o := Operation{Method: m, Verb: verb, Path: path, Body: body == "*", Bound: contract.PathFields(path)}
	for _, name := range o.Bound {
		f := m.Input().Fields().ByName(protoreflect.Name(name))
		o.Path = strings.Replace(o.Path, "{"+name+"}", "{"+f.JSONName()+"}", 1)
	}
	o.ID = string(m.Parent().Name()) + "_" + string(m.Name())
	if n > 0 {
		o.ID += fmt.Sprint(n + 1)
	}
	return o
}

// comment returns the comment of d in our contracts, as one line.
func comment(d protoreflect.Descriptor) string {
	if !strings.HasPrefix(d.ParentFile().Path(), "herald/") {
		return ""
	}
	return strings.Join(strings.Fields(d.ParentFile().SourceLocations().ByDescriptor(d).LeadingComments), " ")
}

// summary returns a comment's first sentence without its full stop, and the rest.
func summary(comment string) (first, rest string) {
	first, rest, _ = strings.Cut(comment, ". ")
	return strings.TrimSuffix(first, "."), rest
}
