package postgres

import "strings"

// state is the meaning of an error code of Postgres.
type state struct {
	// code is an error code or the common prefix of several codes (Postgres, appendix A).
	code string
	// passes means that nothing was written, and that another try may succeed.
	passes bool
	// unsure means that the statement may have been executed, and that another try may succeed.
	unsure bool
	// broken means that the connection or the server does not work. outage means that the whole server does not work.
	broken, outage bool
	// refuses means that the server works, but takes no changes.
	refuses bool
}

// states lists the errors that may pass, and the errors of a server that does not work. The first matching entry
// counts.
var states = []state{
	{code: "08", unsure: true, broken: true}, // the connection failed
	// the server refuses changes, for example because its disk is almost full
	{code: "25006", passes: true, refuses: true},
	{code: "25P03", passes: true},                          // a transaction was idle for too long
	{code: "40003", unsure: true},                          // unknown whether the transaction was committed
	{code: "40", passes: true},                             // rolled back, for example to end a deadlock
	{code: "53", passes: true, broken: true, outage: true}, // no disk space, memory or connection left
	{code: "57P01", unsure: true, broken: true},            // shutdown, or an administrator ended the session
	{code: "57P02", unsure: true, broken: true},            // another process of the server crashed
	{code: "57P03", passes: true, broken: true},            // the server starts or shuts down
	{code: "57P05", passes: true, broken: true},            // a session was idle for too long, or the server frozen
	{code: "57P", passes: true},                            // an operator has intervened
	{code: "58", broken: true, outage: true},               // a file cannot be read or written
}

// stateOf returns the meaning of a code. It is the zero state for codes that are not in states.
func stateOf(code string) state {
	for _, s := range states {
		if strings.HasPrefix(code, s.code) {
			return s
		}
	}
	return state{}
}
