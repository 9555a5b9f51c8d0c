package fault

import "errors"

// ErrUnstorable is the cause of ErrInvalidArgument where a database refused a character of a text, such as NUL.
var ErrUnstorable = errors.New("a text holds a character that cannot be stored")

// ErrUnsure is the cause of ErrUnavailable where a request or statement was sent and its answer was lost. It may have
// been carried out.
var ErrUnsure = errors.New("sent, and the answer was lost")

// AfterWrite returns ErrOutcomeUnknown for an error of a method that writes, if it may have written. All other errors
// are returned as they are: ErrUnavailable then promises that nothing was written.
func AfterWrite(err error) error {
	if errors.Is(err, ErrUnsure) || errors.Is(err, ErrDeadlineExceeded) {
		return ErrOutcomeUnknown.Because(err)
	}
	return err
}
