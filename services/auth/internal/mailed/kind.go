package mailed

import "herald/shared/render"

// kind is one sort of mail: its name, which users and render know too, and its pages by
// the names of their texts.
type kind struct {
	name string
	// form asks for code and password, confirm for the code alone. A kind that has both
	// asks for a password unless the link says that the user has one.
	form, confirm string
	resent, done  string
}

var kinds = []kind{
	{name: "init", form: "init.form", confirm: "init.confirm", resent: "init.resent", done: "init.done"},
	{name: "verifyemail", confirm: "verifyemail.confirm", resent: "verifyemail.resent", done: "verifyemail.done"},
	{name: "passwordreset", form: "passwordreset.form", resent: "passwordreset.resent", done: "passwordreset.done"},
}

func (k kind) path() string {
	path, _ := render.Path(k.name) // a kind without one would end the program when its path is mounted
	return path
}

func (k kind) resendPath() string { return k.path() + "/resend" }

func (k kind) asksPassword(l link) bool {
	return k.form != "" && (k.confirm == "" || !l.PasswordSet)
}
