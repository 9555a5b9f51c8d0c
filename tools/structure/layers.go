package structure

import "regexp"

const (
	lowerFloors = "a floor of the gateway imports only lower ones"
	authFloors  = `^herald/services/auth/internal/`
)

// layers lists refused imports by the folders in which they are refused.
var layers = []struct {
	in, refused *regexp.Regexp
	why         string
}{
	{rx(`^shared`), rx(`^herald/(services|gateway|deploy)`), "shared imports no service"},
	{rx(`^gateway`), rx(`^herald/(services|deploy)`), "the gateway knows no service"},
	{rx(`^gateway/internal/(rest|connect|forward|upload)$`),
		rx(`^herald/gateway/internal/(edge|routes|rest|connect|forward|upload)$`), lowerFloors},
	{rx(`^gateway/internal/(dispatch|exchange)$`),
		rx(`^herald/gateway/internal/(edge|routes|rest|connect|forward|upload)$`), lowerFloors},
	{rx(`^gateway/(transcode|imports|internal/(authn|documents|httpcache|writebudget))$`),
		rx(`^herald/gateway/internal/(edge|routes|rest|connect|forward|upload|dispatch|exchange)$`), lowerFloors},
	{rx(`^(docs|examples)`), rx(`^herald/`), "documents and examples stand alone"},
	{rx(`^services`), rx(`^herald/(gateway|deploy)`), "services stand below the gateway"},
	{rx(`/internal/domain$`), rx(`^(herald/shared/(gen/herald|event|rpc|bus|postgres|search|boot)|` +
		`github.com/(jackc|nats-io)|google.golang.org)`), "a domain knows no database, bus or message"},
	{rx(`/internal/store$`), rx(`^herald/(services/\w+/internal/api|` +
		`shared/(gen/herald/[a-z]+/v\d+|rpc|boot)$)`),
		"a store is below the api and knows no message of a contract"},
	{rx(`/internal/domain$`), rx(`^herald/services/\w+/internal/(store|api)`), "a domain is below its store and api"},
	{rx(`^services/auth/internal/(domain|store|limit)$`),
		rx(authFloors + `(upstream|authorizedapps|api|consumer|oauth|web)`),
		"domain and store are the lowest floors of auth"},
	{rx(`^services/auth/internal/(upstream|authorizedapps|api|consumer|httpbridge)$`),
		rx(authFloors + `(oauth|web|routes)`),
		"what is below the endpoints of auth knows none of them"},
	{rx(`^services/auth/internal/web/`), rx(authFloors + `(oauth|api|consumer|httpbridge|routes)`),
		"pages know no endpoint of OAuth: arrows between the wings go from oauth to web"},
	{rx(`^services/auth/internal/oauth/`),
		rx(authFloors + `(web/(account|login|maillink|onbehalf)|api|consumer|httpbridge|routes)`),
		"of the pages, endpoints of OAuth know only frame and session"},
}

// reserved lists packages that only one package may import.
var reserved = []struct {
	path      *regexp.Regexp
	only, why string
}{
	{rx(`^(golang\.org/x/crypto/(argon2|bcrypt|scrypt)|crypto/pbkdf2)$`), "services/users/internal/password",
		"its Hasher bounds how many keys are derived at a time"},
}

func rx(s string) *regexp.Regexp { return regexp.MustCompile(s) }

var service = rx(`^(?:herald/)?services/(\w+)`)

// imports checks the file's imports: api may import store and domain, store may import domain, and
// no service imports another. Tests may import everything.
func imports(s source) []string {
	if s.test() {
		return nil
	}
	var wrong []string
	for _, path := range s.imported() {
		for _, l := range layers {
			if l.in.MatchString(s.dir()) && l.refused.MatchString(path) {
				wrong = append(wrong, s.at(s.Package, "imports %s: %s", path, l.why))
			}
		}
		for _, r := range reserved {
			if r.path.MatchString(path) && s.dir() != r.only {
				wrong = append(wrong, s.at(s.Package, "imports %s: use %s, because %s", path, r.only, r.why))
			}
		}
		from, to := service.FindStringSubmatch(s.dir()), service.FindStringSubmatch(path)
		if from != nil && to != nil && from[1] != to[1] {
			wrong = append(wrong, s.at(s.Package, "imports %s: services do not know each other, they call", path))
		}
	}
	return wrong
}
