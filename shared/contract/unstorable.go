package contract

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/fault"
)

// NameUnstorable returns f with the fields of a request that contain NUL. Postgres does not store NUL, and the store
// that refused the text does not know the fields.
func NameUnstorable(f *fault.Fault, request proto.Message) *fault.Fault {
	paths := unstorable(request.ProtoReflect())
	if len(paths) == 0 {
		return f
	}
	fields := make([]fault.Field, len(paths))
	for i, path := range paths {
		fields[i] = fault.Field{Path: path, Reason: "must not hold the character NUL"}
	}
	return f.Naming(fields...)
}

func unstorable(m protoreflect.Message) (paths []string) {
	for i := range m.Descriptor().Fields().Len() {
		f := m.Descriptor().Fields().Get(i)
		if f.IsMap() || !m.Has(f) {
			continue
		}
		if !f.IsList() {
			paths = append(paths, within(f.JSONName(), f, m.Get(f))...)
			continue
		}
		for j := range m.Get(f).List().Len() {
			paths = append(paths, within(fmt.Sprintf("%s[%d]", f.JSONName(), j), f, m.Get(f).List().Get(j))...)
		}
	}
	return paths
}

// within returns the paths of the unstorable texts in one value. path is the path of that value.
func within(path string, f protoreflect.FieldDescriptor, v protoreflect.Value) (paths []string) {
	switch {
	case f.Kind() == protoreflect.StringKind && strings.IndexByte(v.String(), 0) >= 0:
		return []string{path}
	case f.Message() != nil:
		for _, inner := range unstorable(v.Message()) {
			paths = append(paths, path+"."+inner)
		}
	}
	return paths
}
