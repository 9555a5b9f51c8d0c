package contract

import (
	"slices"

	"google.golang.org/protobuf/proto"

	heraldv1 "herald/shared/gen/herald/v1"
)

// faults returns the ids in the option faults, and the ids that follow from the rest of the contract.
func (m Method) faults() []string {
	ids, _ := proto.GetExtension(m.Options(), heraldv1.E_Faults).([]string)
	ids = append(slices.Clone(ids), "ANSWER_TOO_LARGE", "DEADLINE_EXCEEDED", "INTERNAL", "INVALID_ARGUMENT",
		"OVERLOADED", "UNAVAILABLE")
	if !m.Safe() {
		ids = append(ids, "OUTCOME_UNKNOWN")
	}
	if len(m.ids) > 0 {
		ids = append(ids, "NOT_FOUND")
	}
	if query := m.field("query"); query != nil && query.Message() != nil &&
		query.Message().FullName() == (&heraldv1.ListQuery{}).ProtoReflect().Descriptor().FullName() {
		ids = append(ids, "LIMIT_EXCEEDED")
	}
	ids = append(ids, m.accessFaults()...)
	ids = append(ids, m.gatewayFaults()...)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// accessFaults returns the ids of the faults for callers who may not call the method.
func (m Method) accessFaults() []string {
	ids := []string{"CALLER_NOT_AUTHENTIC"}
	if !m.Access.GetPublic() {
		ids = append(ids, "PERMISSION_DENIED", "UNAUTHENTICATED")
	}
	if !m.Access.GetPublic() && !m.Internal() {
		ids = append(ids, "INSUFFICIENT_SCOPE", "ORG_HEADER_INVALID", "ORIGIN_NOT_ALLOWED", "TOKEN_INVALID")
	}
	if m.Access.GetFreshLogin() {
		ids = append(ids, "FRESH_LOGIN_REQUIRED")
	}
	if m.Access.GetActsOn() != "" {
		ids = append(ids, "ESCALATION")
	}
	return ids
}

// gatewayFaults returns the ids of the faults with which the gateway refuses requests to the method's REST paths.
func (m Method) gatewayFaults() []string {
	var ids []string
	for _, rule := range m.Rules {
		ids = append(ids, "BODY_TOO_LARGE", "HEADERS_TOO_LARGE", "MEDIA_TYPE_NOT_SUPPORTED", "REQUEST_MALFORMED")
		if _, _, body := Route(rule); body == "" {
			ids = append(ids, "QUERY_MALFORMED")
		} else {
			ids = append(ids, "JSON_MALFORMED")
		}
	}
	return ids
}
