package command_test

import (
	"strings"
	"testing"
)

// A test mail that was not sent fails the call, after its answer was printed.
func TestUnsentTestMail(t *testing.T) {
	t.Parallel()
	for answer, complaint := range map[string]string{
		`"state":"NOTIFICATION_STATE_SENT","attempts":[{"reply":"250 ok"}]`: "",
		`"state":"NOTIFICATION_STATE_FAILED","attempts":[{"reply":"550 no such user"}]`: "the mail server has not " +
			"taken the mail: 550 no such user",
		`"state":"NOTIFICATION_STATE_UNCERTAIN","attempts":[{"reply":"closed"}]`: "nobody knows whether the mail " +
			"server took the mail: closed",
		`"state":"NOTIFICATION_STATE_QUEUED"`: "it has not answered yet",
	} {
		url, _ := instance(t, says(`{"notification":{`+answer+`,"newer":1}}`))
		out, err := execute(t, "", "call", "Notifications.SendTestMail", "--url", url, "--token-file", file(t, "token"))
		if (err == nil) != (complaint == "") || err != nil && !strings.Contains(err.Error(), complaint) ||
			!strings.Contains(out, "NOTIFICATION_STATE") {
			t.Errorf("%s: %v, printed %s", answer, err, out)
		}
	}
}
