package protocol

import (
	"embed"
	"net/http"

	"herald/services/auth/internal/web/frame"
)

var (
	//go:embed refused.html
	files embed.FS

	refusedBody = frame.Body(files, "refused.html")
)

// Page shows a person an error that is not sent to a client. The page with the texts of that name says what the
// application's developers must change. An error that is not a refusal is a failure of Herald and has another page.
func Page(l *frame.Frame, w http.ResponseWriter, r *http.Request, name string, err error) {
	refusal := Refusal(err)
	if refusal.Failure() {
		l.Failed(w, r, err, frame.Retry{})
		return
	}
	l.Write(w, r, frame.Page{Status: status(refusal), Name: name, Body: refusedBody, Data: refusal.Error()})
}
