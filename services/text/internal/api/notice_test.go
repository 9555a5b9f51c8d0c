package api_test

import (
	"strings"
	"testing"

	"herald/shared/gen/fault/textfault"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/mail"
	"herald/shared/testkit"
)

// An organization writes its own text of a notice, and its preview has neither a link nor a code. Placeholders for a
// code are refused.
func TestNoticesHaveNeitherLinkNorCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	owner := w.As("o1", "ORG_OWNER")
	for _, kind := range mail.Kinds() {
		if !kind.Notice() {
			continue
		}
		t.Run(string(kind), func(t *testing.T) {
			r := &textv1.SetMessageTextRequest{
				Kind: string(kind), Language: "de", Text: "{{.ChangedBy}}, {{.ChangeDate}}",
			}
			got := w.preview(r)
			who, when := "\nvon der Administration, ", "5.\u00a0Januar\u00a02026\n"
			if !strings.Contains(got.Text, who+when) {
				t.Errorf("preview\n%s", got.Text)
			}
			leads := kind == mail.Expiring // to a page, without a code
			if strings.Contains(got.Text+got.Html, "://") != leads || strings.Contains(got.Text+got.Html, "K7MPX4RD") {
				t.Errorf("the preview has a link or a code:\n%s", got.Text)
			}
			w.Must(w.gateway.SetMessageText(owner, r))
			this := &textv1.GetMessageTextRequest{Kind: string(kind), Language: "de"}
			read, err := w.gateway.GetMessageText(owner, this)
			w.Must(read, err)
			standard, err := w.gateway.GetDefaultMessageText(owner, this)
			w.Must(standard, err)
			want := standard.CustomText
			want.Text, want.IsDefault, want.Details = r.Text, false, read.CustomText.Details
			testkit.Equal(t, read.CustomText, want)
			if want.Title == "" || want.ButtonText != "" {
				t.Errorf("the default text is %v", want)
			}
			w.Must(w.gateway.RemoveMessageText(owner,
				&textv1.RemoveMessageTextRequest{Kind: string(kind), Language: "de"}))
			r.Text = "{{.Code}}"
			_, err = w.gateway.SetMessageText(owner, r)
			refused(t, err, textfault.ErrMessageTextInvalid, "text")
		})
	}
}
