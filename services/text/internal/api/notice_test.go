package api_test

import (
	"strings"
	"testing"

	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/mail"
)

// An organization writes its own text of a notice, and a preview of it has neither a link nor a code. What
// only a mail with a code can say is refused.
func TestNoticesHaveNeitherLinkNorCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.as(t.Context(), "o1", "ORG_OWNER")
	for _, kind := range mail.Kinds() {
		if !kind.Notice() {
			continue
		}
		r := &textv1.SetMessageTextRequest{
			Kind: string(kind), Language: "de", Text: "{{.ChangedBy}}, {{.ChangeDate}}",
		}
		got := w.preview(t, r)
		who, when := "\nvon der Administration, ", "5.\u00a0Januar\u00a02026, 09:30\u00a0Uhr\u00a0(UTC)\n"
		if !strings.Contains(got.Text, who+when) {
			t.Errorf("%s: preview\n%s", kind, got.Text)
		}
		if strings.Contains(got.Text+got.Html, "://") || strings.Contains(got.Text+got.Html, "K7MPX4RD") {
			t.Errorf("%s: the preview has a link or a code:\n%s", kind, got.Text)
		}
		if _, err := w.gateway.SetMessageText(owner, r); err != nil {
			t.Error(err)
		}
		read, err := w.gateway.GetMessageText(owner, &textv1.GetMessageTextRequest{Kind: string(kind), Language: "de"})
		if text := read.GetCustomText(); err != nil || text.Text != r.Text || text.ButtonText != "" ||
			text.Title == "" || text.IsDefault {
			t.Errorf("%s: %v, %v", kind, read, err)
		}
		if _, err := w.gateway.RemoveMessageText(owner,
			&textv1.RemoveMessageTextRequest{Kind: string(kind), Language: "de"}); err != nil {
			t.Error(err)
		}
		r.Text = "{{.Code}}"
		_, err = w.gateway.SetMessageText(owner, r)
		refused(t, err, textfault.ErrMessageTextInvalid, "text")
	}
}
