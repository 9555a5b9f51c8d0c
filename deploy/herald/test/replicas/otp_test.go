package replicas_test

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// tally sends fifty requests at once to both gateways in turn, and returns the number of answers by
// status and id of the fault. good are the answers with status 200.
func (r *replicas) tally(token, path, body string) (count map[string]int, good []answer) {
	r.T.Helper()
	answers := make([]answer, 50)
	var asking sync.WaitGroup
	for n := range answers {
		asking.Go(func() {
			a, err := r.ask(n, token, "", http.MethodPost, path, body)
			if err != nil {
				r.T.Error(err)
			}
			answers[n] = a
		})
	}
	asking.Wait()
	count = map[string]int{}
	for _, a := range answers {
		said := fmt.Sprint(a.status)
		if details, _ := a.at("details").([]any); a.status == http.StatusOK {
			good = append(good, a)
		} else if len(details) > 0 {
			said += " " + fmt.Sprint(details[0].(map[string]any)["id"])
		}
		count[said]++
	}
	return count, good
}

// With three replicas behind two gateways, of fifty calls at once one adds an app and one verifies
// it, and five wrong codes are compared.
func TestOTPAtThreeReplicas(t *testing.T) {
	t.Parallel()
	r := newReplicas(t, "users", "projects")
	const path = "/auth/v1/users/me/auth_factors/otp"
	_, mini := r.member("mini")
	added, good := r.tally(mini, path, `{}`)
	if len(good) != 1 || added["409 OTP_NOT_VERIFIED"] != 49 {
		t.Fatalf("added: %v", added)
	}
	code, err := exec.CommandContext(context.WithoutCancel(t.Context()), "oathtool", "--totp", "--base32",
		fmt.Sprint(good[0].at("secret"))).Output()
	if err != nil {
		t.Fatal(err)
	}
	verified, _ := r.tally(mini, path+"/_verify", fmt.Sprintf(`{"code":%q}`, strings.TrimSpace(string(code))))
	if verified["200"] != 1 || verified["400 OTP_ALREADY_VERIFIED"] != 49 {
		t.Errorf("verified: %v", verified)
	}
	_, maxi := r.member("maxi")
	r.tally(maxi, path, `{}`)
	guessed, _ := r.tally(maxi, path+"/_verify", `{"code":"guess"}`)
	if guessed["400 CODE_WRONG"] != 5 || guessed["429 OTP_LOCKED"] != 45 {
		t.Errorf("guessed: %v", guessed)
	}
	t.Logf("added %v; verified %v; guessed %v", added, verified, guessed)
}
