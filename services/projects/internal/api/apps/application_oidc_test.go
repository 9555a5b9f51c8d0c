package apps

import (
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/projects/internal/domain"
	projectsv1 "herald/shared/gen/herald/projects/v1"
)

// Each field of the configuration is in the messages that create, replace and show it. These have
// only two other fields each.
func TestMessagesHaveTheFieldsOfTheConfiguration(t *testing.T) {
	t.Parallel()
	for _, m := range []proto.Message{
		&projectsv1.CreateOidcAppRequest{},    // and projectId, name
		&projectsv1.UpdateOidcConfigRequest{}, // and projectId, appId
		&projectsv1.OidcConfig{},              // and clientId, complianceProblems
	} {
		fields := m.ProtoReflect().Descriptor().Fields()
		common := 0
		for name, value := range new(domain.OIDCConfig).Fields() {
			f := fields.ByJSONName(name)
			if f == nil || f.IsList() != (value.Kind() == reflect.Slice) {
				t.Errorf("%T lacks %s of domain.OIDCConfig: write it into app_config.proto", m, name)
				continue
			}
			common++
		}
		if n := fields.Len() - 2; n != common {
			t.Errorf("%T has %d fields of a configuration, domain.OIDCConfig %d: write what lacks into it",
				m, n, common)
		}
	}
}

// Each field has the value of the request.
func TestOIDCConfigIsShownAsItWasGiven(t *testing.T) {
	t.Parallel()
	for name := range new(domain.OIDCConfig).Fields() {
		r := &projectsv1.UpdateOidcConfigRequest{}
		given := r.ProtoReflect()
		f := given.Descriptor().Fields().ByJSONName(name)
		if f.IsList() {
			given.Mutable(f).List().Append(sample(f))
		} else {
			given.Set(f, sample(f))
		}
		config := oidcConfig(r)
		shown := oidcMessage(domain.Application{OIDC: &config}).ProtoReflect()
		got, want := shown.Get(shown.Descriptor().Fields().ByJSONName(name)), given.Get(f)
		if !got.Equal(want) {
			t.Errorf("%s is shown as %v, want %v", name, got, want)
		}
	}
}

// sample returns a value other than the default.
func sample(f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.EnumKind:
		values := f.Enum().Values()
		return protoreflect.ValueOfEnum(values.Get(values.Len() - 1).Number())
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.MessageKind:
		return protoreflect.ValueOf(durationpb.New(7).ProtoReflect())
	default:
		return protoreflect.ValueOfString("https://a.example")
	}
}
