package oauth_test

// A machine user who was imported with the id of an application, a project or another API is never taken for it: no
// token has the id of an application as its subject, and nobody learns of tokens that are for others.
func (s shop) namesakes() {
	token := s.login()
	for _, id := range []string{s.apiID, s.project} {
		s.Must("POST", "/admin/v1/import", `{"dataOrgs":{"orgs":[{"orgId":"`+s.org()+`","machineUsers":[{"userId":"`+
			id+`","user":{"userName":"`+id+`","name":"Namesake"}}]}]}}`)
	}
	asApp := s.sign(s.keyOf(s.apiID), s.claims(s.apiID, nil))
	s.refused(s.post("/oauth/v2/token", "", "grant_type", bearer, "assertion", asApp), 400, "invalid_grant")
	s.inactive("the id of a project", s.secretOf(s.project), token)
}

// org returns the organization of the administrator.
func (w world) org() string {
	w.TB.Helper()
	return w.Must("GET", "/management/v1/orgs/me", "")["org"].(map[string]any)["id"].(string)
}

// An application that logs in by itself asks for no other organization than its own.
func (s shop) applicationOfAnotherOrganization() {
	s.refused(s.post("/oauth/v2/token", s.api, "grant_type", "client_credentials", "scope",
		"openid urn:service:iam:org:id:other"), 400, "invalid_scope")
	own := "urn:service:iam:org:id:" + s.org()
	if got := s.token(s.api, "grant_type", "client_credentials", "scope", own).text("scope"); got != own {
		s.Errorf("its own organization: the token has the scope %q", got)
	}
}
