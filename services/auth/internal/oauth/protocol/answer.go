package protocol

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/shared/fault"
)

// JSON writes an answer that nobody may cache (RFC 6749 section 5.1).
func JSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) //nolint:forbidigo // all bodies are structs and maps of texts and numbers
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// Answer writes the answer of an endpoint to a request or, if there is an error, the error.
func Answer(log *slog.Logger, w http.ResponseWriter, r *http.Request, body any, err error) {
	if err != nil {
		Fail(log, w, r, err)
		return
	}
	JSON(w, http.StatusOK, body)
}

type problem struct {
	Error       string `json:"error"`
	Description string `json:"error_description,omitempty"`
}

// Fail writes an error (RFC 6749 section 5.2). An error that is not a refusal is a failure of Herald: 503 if a service
// is away, else 500. Its reason is only in the log. A client that did not authenticate by the header gets no challenge:
// libraries show the challenge of an answer and not its description.
func Fail(log *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	refusal := Refusal(err)
	switch refusal.Code {
	case domain.ErrServerError.Code:
		log.ErrorContext(r.Context(), "an endpoint failed", "err", err)
	case domain.ErrUnavailable.Code:
		w.Header().Set("Retry-After", fault.RetrySeconds(max(refusal.Wait, time.Second)))
	case domain.ErrInvalidClient.Code:
		if len(r.Header["Authorization"]) > 0 {
			w.Header().Set("WWW-Authenticate", `Basic realm="herald"`)
		}
	}
	JSON(w, status(refusal), problem{refusal.Code, refusal.Description})
}

// Refusal returns the refusal in the chain of an error, or the refusal for a failure of Herald.
func Refusal(err error) *domain.Refusal {
	if refusal, ok := errors.AsType[*domain.Refusal](err); ok {
		return refusal
	}
	switch fault.From(err).Code {
	case fault.Unavailable, fault.Deadline, fault.Exhausted:
		return domain.ErrUnavailable.Say("a part of the service is away; try again").Because(err)
	}
	return domain.ErrServerError.Because(err)
}

// Only answers requests by the handler for their HTTP method, and answers other methods with 405.
func Only(h http.HandlerFunc, methods ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !slices.Contains(methods, r.Method) {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			JSON(w, http.StatusMethodNotAllowed, problem{domain.ErrInvalidRequest.Code,
				"this endpoint answers " + strings.Join(methods, ", ")})
			return
		}
		h(w, r)
	}
}

// status returns the HTTP status of an error (RFC 6749 section 5.2, RFC 6750 section 3.1): 400 unless it has another
// one.
func status(refusal *domain.Refusal) int {
	switch refusal.Code {
	case domain.ErrInvalidClient.Code, domain.ErrInvalidToken.Code:
		return http.StatusUnauthorized
	case domain.ErrInsufficientScope.Code:
		return http.StatusForbidden
	case domain.ErrServerError.Code:
		return http.StatusInternalServerError
	case domain.ErrUnavailable.Code:
		if refusal.TooMany() {
			return http.StatusTooManyRequests
		}
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}
