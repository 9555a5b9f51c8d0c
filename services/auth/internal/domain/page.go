package domain

// LoginPath is the first of the login pages. A request for a login has the parameter request.
const LoginPath = "/ui/login/"

// ForwardPath is the page that sends a browser to the identity provider where a login has begun.
const ForwardPath = LoginPath + "externalidp/forward"

// MaxRequest is how many bytes the id of a request for a login has at most.
const MaxRequest = 64

// Ids of faults of users that several pages answer in their own way.
const (
	CodeWrong      = "CODE_WRONG"
	CodeExpired    = "CODE_EXPIRED"
	CodeLocked     = "CODE_LOCKED"
	FactorLocked   = "OTP_LOCKED"
	PasswordLocked = "PASSWORD_LOCKED"
	LinkMissing    = "IDP_LINK_NOT_FOUND"
	LinkTaken      = "IDP_LINK_TAKEN"
)
