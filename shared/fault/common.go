package fault

import "errors"

// Faults that any service or the gateway may return. Faults of one kind of object are declared
// beside its type.
var (
	ErrInternal        = New(Internal, "INTERNAL", "Internal error; the request id finds it in the log")
	ErrInvalid         = New(Invalid, "INVALID_ARGUMENT", "The request is not valid")
	ErrUnavailable     = New(Unavailable, "UNAVAILABLE", "The service is away and nothing was changed; try again")
	ErrDeadline        = New(Deadline, "DEADLINE_EXCEEDED", "The answer took too long")
	ErrUnknown         = New(Deadline, "OUTCOME_UNKNOWN", "The change may have been made; read before you try again")
	ErrOverloaded      = New(Exhausted, "OVERLOADED", "Too many requests at once; try again")
	ErrDenied          = New(Denied, "PERMISSION_DENIED", "Permission denied")
	ErrUnauthenticated = New(Unauthenticated, "UNAUTHENTICATED", "A valid Bearer token is required")
	ErrTokenInvalid    = New(Unauthenticated, "TOKEN_INVALID", "The token is not valid")
	ErrTooLarge        = New(Invalid, "ANSWER_TOO_LARGE", "The answer is too large").On("query.limit", "ask for less")
)

// ErrUnstorable is the cause of ErrInvalid where a database refused a character of a text, such as NUL.
var ErrUnstorable = errors.New("a text holds a character that cannot be stored")

// ErrUnsure is the cause of ErrUnavailable where a request or statement was sent and its answer was lost. It may have
// been carried out.
var ErrUnsure = errors.New("sent, and the answer was lost")

// AfterWrite returns ErrUnknown for an error of a method that writes, if it may have written. All other errors are
// returned as they are: ErrUnavailable then promises that nothing was written.
func AfterWrite(err error) error {
	if errors.Is(err, ErrUnsure) || errors.Is(err, ErrDeadline) {
		return ErrUnknown.Because(err)
	}
	return err
}
