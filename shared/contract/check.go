package contract

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"herald/shared/caller"
	"herald/shared/quota"
)

// check refuses a method if its contract lacks an option that protects it.
func (m Method) check() error {
	if err := m.checkAccess(); err != nil {
		return err // the other checks need to know who may call the method
	}
	return errors.Join(m.checkPaths(), m.checkSafety(), m.checkActsOn(), m.checkScopes(), m.checkFreshLogin(),
		m.checkFields(), m.checkQuota())
}

// checkAccess refuses a method unless exactly one option says who may call it.
func (m Method) checkAccess() error {
	a, set := m.Access, 0
	for _, ok := range []bool{a.GetPermission() != "", a.GetAuthenticated(), a.GetPublic(), len(a.GetInternal()) > 0} {
		if ok {
			set++
		}
	}
	switch {
	case m.IsStreamingClient() || m.IsStreamingServer():
		return errors.New("streams are not carried over NATS")
	case set != 1:
		return errors.New("herald.v1.access must say exactly one of permission, authenticated, public, internal")
	case a.Permission != "" && !caller.IsPermission(a.Permission):
		return fmt.Errorf("no role holds the permission %q", a.Permission)
	case a.Project != "" && m.field(a.Project) == nil:
		return fmt.Errorf("the request has no field %q", a.Project)
	case len(a.Forwarded) > 0 && a.Permission == "" && !a.Authenticated:
		return errors.New("only a user's call is forwarded")
	}
	return nil
}

// checkPaths refuses an internal method with a REST path, a public method without one, and a search without filters.
func (m Method) checkPaths() error {
	internal, queries := len(m.Access.GetInternal()) > 0, m.field("queries")
	switch {
	case queries != nil && !filters(queries.Message()):
		return errors.New("an element of queries has the option herald.v1.filter")
	case internal && len(m.Rules) > 0:
		return errors.New("an internal method has no REST path")
	case !internal && len(m.Rules) == 0:
		return errors.New("a public method needs a REST path")
	}
	return nil
}

// checkSafety refuses a method that only reads but is not declared safe. It also refuses a method that writes but is
// declared safe.
func (m Method) checkSafety() error {
	a := m.Access
	switch {
	case m.reads() && !m.Safe():
		return errors.New("a method that only reads changes nothing: add " +
			"`option idempotency_level = NO_SIDE_EFFECTS`, so that it can be sent to another replica if one is frozen")
	case m.Safe() && (a.GetFreshLogin() || a.GetNotForApps() || a.GetActsOn() != "" || a.GetCostly()):
		return errors.New("a method without side effects changes no way to log in: remove its idempotency_level, " +
			"or fresh_login, not_for_apps, acts_on and costly")
	}
	return nil
}

// reads reports whether a REST path ends with _search, or whether the method's name begins with a verb of reading.
func (m Method) reads() bool {
	for _, rule := range m.Rules {
		if _, path, _ := Route(rule); strings.HasSuffix(path, "/_search") {
			return true
		}
	}
	return slices.ContainsFunc([]string{"Get", "List", "Search", "Resolve"}, func(verb string) bool {
		return strings.HasPrefix(string(m.Name()), verb)
	})
}

// checkActsOn refuses a method that writes to a user if its contract does not say how that user is protected.
func (m Method) checkActsOn() error {
	a := m.Access
	on, writes := a.GetActsOn(), a.GetPermission() != "" && !caller.IsReadPermission(a.GetPermission())
	switch {
	case on != "" && a.GetActsOnNobody() != "":
		return errors.New("of acts_on and acts_on_nobody herald.v1.access has one")
	case on != "" && !isText(m.field(on)):
		return fmt.Errorf("acts_on names a text field of the request, and %q is none", on)
	case on != "" && a.GetPermission() == "":
		return errors.New("acts_on goes with a permission: any other method acts on the caller")
	case a.GetCostly() && on == "":
		return errors.New("costly goes with acts_on: it has the escalation rule checked before the work too")
	case on == "" && a.GetActsOnNobody() == "" && m.field("user_id") != nil && writes:
		return fmt.Errorf("the request has a user_id and %s lets its holder change something: "+
			"add acts_on: \"user_id\" to herald.v1.access, which refuses callers who lack a permission of that user; "+
			"if the method changes nothing with which the user logs in, add acts_on_nobody with the reason instead",
			a.GetPermission())
	}
	return nil
}

func (m Method) checkScopes() error {
	scopes := m.Access.GetScopes()
	for _, s := range scopes {
		if s != OpenID && s != Audience {
			return fmt.Errorf("scopes of herald.v1.access are %q and %q, not %q", OpenID, Audience, s)
		}
	}
	all := slices.Contains(scopes, OpenID) && slices.Contains(scopes, Audience)
	switch {
	case !m.under(self) && len(scopes) > 0 && !all:
		return fmt.Errorf("only a method under %s may ask for fewer scopes: remove scopes from herald.v1.access, "+
			"which then needs both", self)
	case m.under(self) && len(scopes) == 0:
		return fmt.Errorf("a method under %s says which scopes its token needs: add scopes: %q to herald.v1.access "+
			"for a read, and scopes: [%q, %q] for a write", self, OpenID, OpenID, Audience)
	case m.under(self) && !all && !m.Safe() && !m.prepares():
		return fmt.Errorf("a write under %s needs both %q and %q: a login at any application gets the first alone",
			self, OpenID, Audience)
	}
	return nil
}

// prepares reports whether the method is the only write that openid alone allows: it adds a factor, which counts for
// nothing until it is verified.
func (m Method) prepares() bool {
	verb, path, _ := Route(m.Rules[0])
	return verb == http.MethodPost && path == self+"users/me/auth_factors/otp"
}

func (m Method) checkFreshLogin() error {
	a := m.Access
	if a.GetFreshLogin() && !a.GetAuthenticated() && a.GetActsOn() == "" {
		return errors.New("fresh_login is asked of callers who change their own way in: " +
			"it goes with authenticated, or with acts_on, which says whose it is")
	}
	if a.GetNotForApps() && !a.GetAuthenticated() && a.GetActsOn() == "" && m.whose() == nil {
		return errors.New("not_for_apps is about callers who change what is their own: " +
			"it goes with authenticated, with acts_on, which says whose it is, or with acts_on_nobody and a user_id")
	}
	if on := a.GetEndsToken(); on != "" && (!a.GetFreshLogin() || !isText(m.field(on))) {
		return fmt.Errorf("ends_token goes with fresh_login and names a text field of the request, and %q is none", on)
	}
	return nil
}

// checkQuota refuses a method that creates objects if its contract does not say how many there may be.
func (m Method) checkQuota() error {
	creates := slices.ContainsFunc([]string{"Add", "Create", "Import"}, func(verb string) bool {
		return strings.HasPrefix(string(m.Name()), verb)
	})
	switch {
	case m.Quota != "" && !quota.Known(m.Quota):
		return fmt.Errorf("herald.v1.quota is %q, which the table of shared/quota does not have", m.Quota)
	case m.Quota != "" && m.NoQuota != "":
		return errors.New("of herald.v1.quota and herald.v1.no_quota a method has one")
	case creates && m.Quota == "" && m.NoQuota == "":
		return errors.New("a method that creates objects says how many there may be: add herald.v1.quota, with a " +
			"line of the table in shared/quota and a trigger keep_quota, or herald.v1.no_quota with the reason")
	}
	return nil
}

// whose returns the user_id of a method with acts_on_nobody. It returns nil for any other method.
func (m Method) whose() protoreflect.FieldDescriptor {
	if f := m.field("user_id"); m.Access.GetActsOnNobody() != "" && isText(f) {
		return f
	}
	return nil
}

// User returns the field of the request with the user who is acted on. It is nil if the method acts on the caller or on
// no user.
func (m Method) User() protoreflect.FieldDescriptor {
	if on := m.Access.GetActsOn(); on != "" {
		return m.field(on)
	}
	return m.whose()
}

func (m Method) field(name string) protoreflect.FieldDescriptor {
	return m.Input().Fields().ByName(protoreflect.Name(name))
}

func isText(f protoreflect.FieldDescriptor) bool {
	return f != nil && f.Kind() == protoreflect.StringKind && !f.IsList()
}
