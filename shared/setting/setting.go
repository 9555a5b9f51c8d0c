// Package setting says where settings come from that the API and environment variables can set. A variable wins.
package setting

import (
	"herald/shared/fault"
	heraldv1 "herald/shared/gen/herald/v1"
)

// Source is where the value of a setting comes from.
type Source int16

// The sources, numbered as in their contract.
const (
	ByDefault Source = iota + 1
	ByAPI
	ByEnvironment
	ByInbox
)

// Origin is where the value of one field of the API comes from. Variable is the environment variable that can set it.
type Origin struct {
	Field, Variable string
	Source          Source
}

// Message returns the origin for an answer. It names the variable only if that sets the field.
func (o Origin) Message() *heraldv1.SettingOrigin {
	m := &heraldv1.SettingOrigin{Field: o.Field, Source: heraldv1.SettingSource(o.Source)}
	if o.Source == ByEnvironment {
		m.Variable = o.Variable
	}
	return m
}

// Won returns the reason for refusing a change of a field that the environment sets.
func (o Origin) Won() fault.Field {
	return fault.Field{Path: o.Field, Reason: "the environment variable " + o.Variable +
		" sets it and wins; without it this can be set here"}
}
