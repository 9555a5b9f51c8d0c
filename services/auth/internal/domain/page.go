package domain

// Paths of pages to which pages of other packages lead.
const (
	// LoginPath is the first of the login pages. Its parameter "request" says what the login is for.
	LoginPath = "/ui/login/"
	// BackPath is where the pages of mails lead when they are done.
	BackPath = LoginPath + "back"
	// ForwardPath is the page that sends a browser to the identity provider at which a login has begun.
	ForwardPath = LoginPath + "externalidp/forward"
	// SignedOutPath tells a person that the session is over.
	SignedOutPath = LoginPath + "signedout"
	// AccountPath is the first page of a person's own account.
	AccountPath = "/ui/account"
	// LinksPath has the linked accounts of a person, and LinkPath links another one.
	LinksPath = AccountPath + "/idplinks"
	LinkPath  = LinksPath + "/add"
)

// MaxRequest is how many bytes the id of a request for a login has at most.
const MaxRequest = 64
