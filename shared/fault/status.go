package fault

import (
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	heraldv1 "herald/shared/gen/herald/v1"
)

// Status returns the fault as it is sent, without its cause.
func (f *Fault) Status() *status.Status {
	detail := &heraldv1.ErrorDetail{Id: f.ID, Message: f.Message}
	if f.Permission != "" {
		detail.Permission, detail.OrgId = &f.Permission, &f.Organization
	}
	details := []proto.Message{detail}
	if len(f.Fields) > 0 {
		bad := &errdetails.BadRequest{}
		for _, v := range f.Fields {
			bad.FieldViolations = append(bad.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: v.Path,
				Description: v.Reason})
		}
		details = append(details, bad)
	}
	if f.RetryAfter > 0 {
		details = append(details, &errdetails.RetryInfo{RetryDelay: durationpb.New(f.RetryAfter)})
	}
	s := &status.Status{Code: int32(f.Code), Message: f.Message}
	for _, m := range details {
		if packed, err := anypb.New(m); err == nil { // fails for messages that are not valid UTF-8 only
			s.Details = append(s.Details, packed)
		}
	}
	return s
}

// FromStatus is the inverse of Status. Details that it does not know are dropped.
func FromStatus(s *status.Status) *Fault {
	f := New(Code(s.Code), ErrInternal.ID, s.Message)
	for _, packed := range s.Details {
		m, err := packed.UnmarshalNew()
		if err != nil {
			continue
		}
		switch d := m.(type) {
		case *heraldv1.ErrorDetail:
			f.ID, f.Permission, f.Organization = d.Id, d.GetPermission(), d.GetOrgId()
		case *errdetails.BadRequest:
			for _, v := range d.FieldViolations {
				f.Fields = append(f.Fields, Field{v.Field, v.Description})
			}
		case *errdetails.RetryInfo:
			f.RetryAfter = d.RetryDelay.AsDuration().Round(time.Millisecond)
		}
	}
	return f
}
