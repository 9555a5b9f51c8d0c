package postgres

import "strings"

// state says what an error of Postgres means.
type state struct {
	// code is the code of an error, or the beginning of several (Postgres, appendix A).
	code string
	// passes: nothing was written, and another attempt may succeed.
	passes bool
	// unsure: the statement may have been carried out, and another attempt may succeed.
	unsure bool
	// broken: the connection or the server does not work. With outage it is the server.
	broken, outage bool
}

// states are the errors that may pass, and those of a server that does not work. Of several that fit, the first holds.
var states = []state{
	{code: "08", unsure: true, broken: true},               // the connection
	{code: "25P03", passes: true},                          // a transaction that was idle for too long
	{code: "40003", unsure: true},                          // not known whether it was committed
	{code: "40", passes: true},                             // rolled back, such as to end a deadlock
	{code: "53", passes: true, broken: true, outage: true}, // no room, memory or connection left
	{code: "57P01", unsure: true, broken: true},            // shut down, or ended by an administrator
	{code: "57P02", unsure: true, broken: true},            // another process of the server has crashed
	{code: "57P03", passes: true, broken: true},            // starts, or is being shut down
	{code: "57P", passes: true},                            // an operator has intervened
	{code: "58", broken: true, outage: true},               // a file cannot be read or written
}

// stateOf returns what a code means, the zero state if it may not pass.
func stateOf(code string) state {
	for _, s := range states {
		if strings.HasPrefix(code, s.code) {
			return s
		}
	}
	return state{}
}
