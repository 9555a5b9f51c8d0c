package apps

import (
	"context"
	"reflect"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/projects/internal/domain"
	"herald/shared/caller"
	"herald/shared/fault"
	projectsv1 "herald/shared/gen/herald/projects/v1"
	"herald/shared/rpc"
)

// checkedConfig returns the configuration of a creation or a change, if the caller may decide it and its fields are
// right. Who configures a trusted application decides who may act for everybody of the organization. An application
// that is not trusted would otherwise mark itself, and then could do what not_for_apps refuses.
func checkedConfig(ctx context.Context, r proto.Message) (domain.OIDCConfig, error) {
	c := oidcConfig(r)
	by := caller.From(ctx)
	if c.Trusted && !by.Can("org.write", "") {
		return c, rpc.Denied("org.write", by.OrganizationID)
	}
	if c.Trusted && by.Untrusted() {
		return c, fault.ErrAppNotTrusted.Say("An application that is not trusted marks none as trusted, and " +
			"configures none that is: the person does it without an application, such as with a personal access token")
	}
	return c, c.Check()
}

// oidcConfig reads the configuration from a creation or a change. Its fields have the same JSON names
// in the domain and in every message.
func oidcConfig(r proto.Message) domain.OIDCConfig {
	c := domain.OIDCConfig{IDTokenUserinfoAssertion: true}
	from := r.ProtoReflect()
	for name, to := range c.Fields() {
		f := from.Descriptor().Fields().ByJSONName(name)
		if f.HasOptionalKeyword() && !from.Has(f) {
			continue // it has its default
		}
		if !f.IsList() {
			to.Set(fromMessage(from.Get(f), to.Type()))
			continue
		}
		list := from.Get(f).List()
		for i := range list.Len() {
			to.Set(reflect.Append(to, fromMessage(list.Get(i), to.Type().Elem())))
		}
	}
	return c.WithDefaults()
}

func fromMessage(v protoreflect.Value, to reflect.Type) reflect.Value {
	switch v := v.Interface().(type) {
	case protoreflect.Message:
		return reflect.ValueOf(v.Interface().(*durationpb.Duration).AsDuration())
	default: // a string, a bool, or the number of an enum, which is the same in the domain
		return reflect.ValueOf(v).Convert(to)
	}
}

// oidcMessage returns the message of an OpenID Connect configuration.
func oidcMessage(app domain.Application) *projectsv1.OidcConfig {
	m := &projectsv1.OidcConfig{ClientId: app.ID, ComplianceProblems: app.ComplianceProblems()}
	to := m.ProtoReflect()
	for name, from := range app.OIDC.Fields() {
		f := to.Descriptor().Fields().ByJSONName(name)
		switch {
		case !f.IsList():
			to.Set(f, toMessage(from, f))
		case from.Len() > 0:
			list := to.Mutable(f).List()
			for i := range from.Len() {
				list.Append(toMessage(from.Index(i), f))
			}
		}
	}
	return m
}

func toMessage(from reflect.Value, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(from.Int()))
	case protoreflect.MessageKind:
		return protoreflect.ValueOf(durationpb.New(time.Duration(from.Int())).ProtoReflect())
	default:
		return protoreflect.ValueOf(from.Interface())
	}
}
