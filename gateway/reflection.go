package gateway

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/shared/contract"
	"herald/shared/fault"
)

// published returns the files of services that everybody may know, with all that they import. The files do not have
// what only services call: internal methods, and messages that no other method uses.
func published(services []string) (*protoregistry.Files, error) {
	c := catalogue{
		files: map[string]*descriptorpb.FileDescriptorProto{}, packages: map[string]bool{},
		used: map[protoreflect.FullName]bool{},
	}
	for _, name := range services {
		d, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(name))
		if err != nil {
			return nil, err
		}
		if err := c.service(d.(protoreflect.ServiceDescriptor)); err != nil {
			return nil, err
		}
	}
	for _, f := range c.set.File {
		if c.packages[f.GetPackage()] {
			f.MessageType = slices.DeleteFunc(f.MessageType, func(m *descriptorpb.DescriptorProto) bool {
				return !c.used[protoreflect.FullName(f.GetPackage()).Append(protoreflect.Name(m.GetName()))]
			})
		}
	}
	return protodesc.NewFiles(&c.set)
}

// catalogue collects files and what the public methods in them use.
type catalogue struct {
	set      descriptorpb.FileDescriptorSet
	files    map[string]*descriptorpb.FileDescriptorProto // those of set, by path
	packages map[string]bool                              // of services
	used     map[protoreflect.FullName]bool
}

func (c *catalogue) service(s protoreflect.ServiceDescriptor) error {
	c.file(s.ParentFile())
	c.packages[string(s.ParentFile().Package())] = true
	if !strings.HasPrefix(string(s.FullName()), "herald.") { // the health service has no options
		for i := range s.Methods().Len() {
			c.use(s.Methods().Get(i))
		}
		return nil
	}
	methods, err := contract.Methods(s)
	if err != nil {
		return err
	}
	public := map[string]bool{}
	for _, m := range methods {
		if !m.Internal() {
			public[string(m.Name())] = true
			c.use(m)
		}
	}
	told := c.files[s.ParentFile().Path()].Service[s.Index()]
	told.Method = slices.DeleteFunc(told.Method, func(m *descriptorpb.MethodDescriptorProto) bool {
		return !public[m.GetName()]
	})
	return nil
}

// file adds a file after those that it imports.
func (c *catalogue) file(f protoreflect.FileDescriptor) {
	if c.files[f.Path()] != nil {
		return
	}
	c.files[f.Path()] = protodesc.ToFileDescriptorProto(f)
	for i := range f.Imports().Len() {
		c.file(f.Imports().Get(i).FileDescriptor)
	}
	c.set.File = append(c.set.File, c.files[f.Path()])
}

func (c *catalogue) use(m protoreflect.MethodDescriptor) {
	c.message(m.Input())
	c.message(m.Output())
}

func (c *catalogue) message(m protoreflect.MessageDescriptor) {
	if c.used[m.FullName()] {
		return
	}
	c.used[m.FullName()] = true
	if parent, ok := m.Parent().(protoreflect.MessageDescriptor); ok {
		c.message(parent)
	}
	for i := range m.Fields().Len() {
		if inner := m.Fields().Get(i).Message(); inner != nil {
			c.message(inner)
		}
	}
}

// maxReflected is how many bytes one stream of reflection answers: all files several times.
const maxReflected = 4 << 20

// ErrReflection ends a stream of reflection that asks for too much.
var ErrReflection = fault.New(fault.Exhausted, "REFLECTION_TOO_LARGE",
	"The answers of this stream are larger than 4 MiB; ask for a file once")

// reflecting makes connect answer the streams of reflection with faults of our own, and bounds them.
type reflecting struct{}

// WrapUnary implements connect.Interceptor.
func (reflecting) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc { return next }

// WrapStreamingClient implements connect.Interceptor.
func (reflecting) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connect.Interceptor.
func (reflecting) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, stream connect.StreamingHandlerConn) error {
		return next(ctx, &reflection{stream, ctx, maxReflected})
	}
}

// reflection is a stream that has left so many bytes to send.
type reflection struct {
	connect.StreamingHandlerConn
	ctx  context.Context
	left int
}

// Receive implements connect.StreamingHandlerConn.
func (r *reflection) Receive(m any) error {
	err := r.StreamingHandlerConn.Receive(m)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case r.ctx.Err() != nil:
		return rpcError(exchangeOf(r.ctx).refuse(r.ctx.Err()))
	}
	return rpcError(exchangeOf(r.ctx).refuse(ErrRequest.Because(err)))
}

// Send implements connect.StreamingHandlerConn.
func (r *reflection) Send(m any) error {
	if r.left -= proto.Size(m.(proto.Message)); r.left < 0 {
		return rpcError(exchangeOf(r.ctx).refuse(ErrReflection))
	}
	return r.StreamingHandlerConn.Send(m)
}
