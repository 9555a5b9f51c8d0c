package render

// Path is where the link of a mail leads: the page that answers for its kind, which is
// init, verifyemail or passwordreset. It answers false for another.
func Path(kind string) (string, bool) {
	switch kind {
	case "init":
		return "/ui/login/user/init", true
	case "verifyemail":
		return "/ui/login/mail/verification", true
	case "passwordreset":
		return "/ui/login/password/reset", true
	}
	return "", false
}
