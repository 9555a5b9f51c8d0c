package domain

// Paths of pages to which pages of other packages lead.
const (
	// LoginPath is the first of the login pages. Its parameter "request" says what the login is for.
	LoginPath = "/ui/login/"
	// BackPath is where the pages behind the links in mails lead at the end.
	BackPath = LoginPath + "back"
	// ForwardPath is the page that sends a browser to the identity provider where the person logs in.
	ForwardPath = LoginPath + "externalidp/forward"
	// SignedOutPath is the page after a logout.
	SignedOutPath = LoginPath + "signedout"
	// AccountPath is the first page of a person's own account.
	AccountPath = "/ui/account"
	// LinksPath is the page with the linked accounts of a person. LinkPath is the page that links another one.
	LinksPath = AccountPath + "/idplinks"
	LinkPath  = LinksPath + "/add"
)

// MaxRequest is how many bytes the id of a request for a login has at most.
const MaxRequest = 64
