package connect

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	connectrpc "connectrpc.com/connect"
	"connectrpc.com/grpcreflect"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"herald/gateway/internal/exchange"
	"herald/shared/contract"
	"herald/shared/gen/fault/gatewayfault"
)

// Reflection returns the handlers of reflection by their paths. They describe these services and need no token.
func Reflection(services []string) map[string]exchange.Handler {
	described := append(slices.Clone(services), healthpb.Health_ServiceDesc.ServiceName)
	reflector := grpcreflect.NewReflector(grpcreflect.NamerFunc(func() []string { return described }),
		grpcreflect.WithDescriptorResolver(resolver(sync.OnceValues(func() (*protoregistry.Files, error) {
			return published(described)
		}))))
	limits := []connectrpc.HandlerOption{uncompressed, connectrpc.WithReadMaxBytes(exchange.MaxBody),
		connectrpc.WithInterceptors(bounding{})}
	handlers := map[string]exchange.Handler{}
	for _, version := range []func(*grpcreflect.Reflector, ...connectrpc.HandlerOption) (string, http.Handler){
		grpcreflect.NewHandlerV1, grpcreflect.NewHandlerV1Alpha,
	} {
		prefix, h := version(reflector, limits...)
		handlers[prefix+"ServerReflectionInfo"] = func(x *exchange.Exchange, r *http.Request) {
			x.Quiet = true
			t := exchange.MediaType(r)
			if !strings.HasPrefix(t, "application/grpc") && !strings.HasPrefix(t, "application/connect") {
				x.Fail(r, gatewayfault.ErrMediaTypeNotSupported)
				return
			}
			h.ServeHTTP(x, r)
		}
	}
	return handlers
}

// resolver returns the files that reflection describes. They are made at the first question, because they take 2 MB and
// most gateways are never asked.
type resolver func() (*protoregistry.Files, error)

// FindFileByPath implements protodesc.Resolver.
func (r resolver) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	files, err := r()
	if err != nil {
		return nil, err
	}
	return files.FindFileByPath(path)
}

// FindDescriptorByName implements protodesc.Resolver.
func (r resolver) FindDescriptorByName(name protoreflect.FullName) (protoreflect.Descriptor, error) {
	files, err := r()
	if err != nil {
		return nil, err
	}
	return files.FindDescriptorByName(name)
}

// published returns the files of services with all their imports. Internal methods, and messages that only these use,
// are removed.
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
	f := c.files[s.ParentFile().Path()].Service[s.Index()]
	f.Method = slices.DeleteFunc(f.Method, func(m *descriptorpb.MethodDescriptorProto) bool {
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

// maxReflected is how many bytes one stream of reflection may answer. All files fit several times.
const maxReflected = 4 << 20

// bounding limits the answers of a stream of reflection, and replaces the errors of connect by faults.
type bounding struct{}

// WrapUnary implements connectrpc.Interceptor.
func (bounding) WrapUnary(next connectrpc.UnaryFunc) connectrpc.UnaryFunc { return next }

// WrapStreamingClient implements connectrpc.Interceptor.
func (bounding) WrapStreamingClient(next connectrpc.StreamingClientFunc) connectrpc.StreamingClientFunc {
	return next
}

// WrapStreamingHandler implements connectrpc.Interceptor.
func (bounding) WrapStreamingHandler(next connectrpc.StreamingHandlerFunc) connectrpc.StreamingHandlerFunc {
	return func(ctx context.Context, stream connectrpc.StreamingHandlerConn) error {
		return next(ctx, &bounded{stream, ctx, maxReflected})
	}
}

// bounded is a stream of reflection.
type bounded struct {
	connectrpc.StreamingHandlerConn
	ctx  context.Context
	left int // how many more bytes may be sent
}

// Receive implements connectrpc.StreamingHandlerConn.
func (b *bounded) Receive(m any) error {
	err := b.StreamingHandlerConn.Receive(m)
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case b.ctx.Err() != nil:
		return connectError(exchange.From(b.ctx).Refuse(b.ctx.Err()))
	}
	return connectError(exchange.From(b.ctx).Refuse(gatewayfault.ErrRequestMalformed.Because(err)))
}

// Send implements connectrpc.StreamingHandlerConn.
func (b *bounded) Send(m any) error {
	if b.left -= proto.Size(m.(proto.Message)); b.left < 0 {
		return connectError(exchange.From(b.ctx).Refuse(gatewayfault.ErrReflectionTooLarge))
	}
	return b.StreamingHandlerConn.Send(m)
}
