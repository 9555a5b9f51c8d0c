package dispatch

import (
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"herald/gateway/internal/authn"
	"herald/shared/contract"
)

// Method is the part of a method's contract that its requests need.
type Method struct {
	Procedure  string
	In, Out    protoreflect.MessageType
	Public     bool
	Permission string
	// Safe reports whether the method changes nothing.
	Safe bool
	need authn.Need
}

// NewMethod reads the contract of a method.
func NewMethod(d contract.Method) (*Method, error) {
	in, err := protoregistry.GlobalTypes.FindMessageByName(d.Input().FullName())
	if err != nil {
		return nil, err
	}
	out, err := protoregistry.GlobalTypes.FindMessageByName(d.Output().FullName())
	if err != nil {
		return nil, err
	}
	need := authn.Need{Scopes: d.Scopes, Home: d.Home()}
	return &Method{
		Procedure: d.Procedure(), In: in, Out: out, need: need, Public: d.Access.Public,
		Permission: d.Access.Permission, Safe: d.Safe(),
	}, nil
}
