package oauth_test

import (
	"os/exec"
	"testing"

	"herald/deploy/herald/test/whole"
)

// A person who follows docs/providers.md logs in to the example application with the account of the example directory.
func TestExampleDirectory(t *testing.T) {
	t.Parallel()
	origin := nodeOrigin(t)
	w, c := start(t, "HERALD_DIRECTORY_AUTHORITY="+origin, "HERALD_OUTBOUND_PRIVATE=true"), open(t)
	directory := exec.Command(whole.Root(t)+"/examples/directory/run.sh", origin, w.URL)
	w.runProgram(directory, `^ready$`)
	idp := w.provider(`{"name":"Company","clientId":"herald","clientSecret":"of-the-directory"}`)
	w.Must("PUT", "/management/v1/idps/directory/"+idp, `{"emailVerified":true,
		"tenant":{"tenantId":"11111111-1111-4111-8111-111111111111"},"providerOptions":{"isLinkingAllowed":true}}`)
	w.Must("POST", "/management/v1/users/human/_import", `{"userId":"moritz","userName":"moritz",
		"profile":{"firstName":"Moritz","lastName":"Muster"},"email":{"email":"moritz@example.com"},
		"idps":[{"configId":"`+idp+`","externalUserId":"0f0e8a4e-1d5c-4a3b-9f1e-7c2d5b6a8e90"}]}`)
	c.visit(w.example())
	c.submit()
	c.clickTo(offer, agree)
	c.clickTo(agree, `form[action="/logout"]`) // the directory's word about the address holds
	if got := c.read("p"); got != "You are Moritz Muster (moritz, moritz@example.com)." {
		t.Errorf("the login leads to %s", c.read("body"))
	}
}
