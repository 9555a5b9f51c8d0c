package contract

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	"herald/shared/gen/fault/usersfault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// faults returns the ids in the option faults, and the ids that follow from the rest of the contract.
func (m Method) faults() []string {
	ids, _ := proto.GetExtension(m.Options(), heraldv1.E_Faults).([]string)
	ids = slices.Clone(ids)
	for _, f := range slices.Concat(m.requestFaults(), m.accessFaults(), m.gatewayFaults()) {
		ids = append(ids, f.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// requestFaults returns the faults of all requests, and those that follow from the request's fields.
func (m Method) requestFaults() []*fault.Fault {
	all := []*fault.Fault{
		fault.ErrAnswerTooLarge, fault.ErrDeadlineExceeded, fault.ErrInternal, fault.ErrInvalidArgument,
		fault.ErrOverloaded, fault.ErrUnavailable,
	}
	if !m.Safe() {
		all = append(all, fault.ErrOutcomeUnknown)
	}
	if m.Quota != "" {
		all = append(all, fault.ErrQuotaExceeded)
	}
	if len(m.ids) > 0 {
		all = append(all, fault.ErrNotFound)
	}
	if query := m.field("query"); query != nil && query.Message() != nil &&
		query.Message().FullName() == (&heraldv1.ListQuery{}).ProtoReflect().Descriptor().FullName() {
		all = append(all, fault.ErrLimitExceeded)
	}
	return all
}

// accessFaults returns the faults for callers who may not call the method.
func (m Method) accessFaults() []*fault.Fault {
	all := []*fault.Fault{fault.ErrCallerNotAuthentic}
	if !m.Access.GetPublic() {
		all = append(all, fault.ErrPermissionDenied, fault.ErrUnauthenticated)
	}
	if !m.Access.GetPublic() && !m.Internal() {
		all = append(all, gatewayfault.ErrInsufficientScope, gatewayfault.ErrOrgHeaderInvalid,
			gatewayfault.ErrOriginNotAllowed, fault.ErrTokenInvalid)
	}
	if m.Access.GetFreshLogin() {
		all = append(all, fault.ErrFreshLoginRequired)
	}
	if m.Access.GetNotForApps() {
		all = append(all, fault.ErrAppNotTrusted)
	}
	if m.Access.GetActsOn() != "" {
		all = append(all, usersfault.ErrEscalation)
	}
	return all
}

// gatewayFaults returns the faults with which the gateway refuses requests to the method's REST paths.
func (m Method) gatewayFaults() []*fault.Fault {
	var all []*fault.Fault
	for _, rule := range m.Rules {
		all = append(all, gatewayfault.ErrBodyTooLarge, gatewayfault.ErrHeadersTooLarge,
			gatewayfault.ErrMediaTypeNotSupported, gatewayfault.ErrRequestMalformed)
		if _, _, body := Route(rule); body == "" {
			all = append(all, gatewayfault.ErrQueryMalformed)
		} else {
			all = append(all, gatewayfault.ErrJSONMalformed)
		}
	}
	return all
}
