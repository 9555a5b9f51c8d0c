package oauth_test

// A machine user cannot be imported with the id of an application or a project, so that it is never taken for it.
func (s shop) namesakes() {
	for _, id := range []string{s.apiID, s.project} {
		answer := s.Must("POST", "/admin/v1/import", `{"dataOrgs":{"orgs":[{"orgId":"`+s.org()+
			`","machineUsers":[{"userId":"`+id+`","user":{"userName":"`+id+`","name":"Namesake"}}]}]}}`)
		refused, _ := answer["errors"].([]any)
		if len(refused) != 1 || refused[0].(map[string]any)["id"] != id {
			s.Errorf("imported with the id %s: %v", id, answer)
		}
	}
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
