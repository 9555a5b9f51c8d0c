package fault

import "errors"

// Faults that any service or the gateway may return. Faults of one kind of object are declared
// beside its type.
var (
	ErrInternal        = New(Internal, "INTERNAL", "Internal error; the request id finds it in the log")
	ErrInvalid         = New(Invalid, "INVALID_ARGUMENT", "The request is not valid")
	ErrUnavailable     = New(Unavailable, "UNAVAILABLE", "The service is not available; try again")
	ErrDeadline        = New(Deadline, "DEADLINE_EXCEEDED", "The answer took too long; the outcome is unknown")
	ErrOverloaded      = New(Exhausted, "OVERLOADED", "Too many requests at once; try again")
	ErrDenied          = New(Denied, "PERMISSION_DENIED", "Permission denied")
	ErrUnauthenticated = New(Unauthenticated, "UNAUTHENTICATED", "A valid Bearer token is required")
	ErrTooLarge        = New(Invalid, "ANSWER_TOO_LARGE", "The answer is too large").On("query.limit", "ask for less")
)

// ErrUnstorable is the cause of ErrInvalid where a database refused a character of a text, such as NUL.
var ErrUnstorable = errors.New("a text holds a character that cannot be stored")
