// Package quota has the one table of how many objects there may be of a kind in their owner, such as roles in a
// project. A trigger of the database counts in the statement that inserts, so that no way to insert passes by: a
// method, a bulk import or an event. The quotas that have a name in Go have no trigger: the program counts, because
// something else happens than the fault QUOTA_EXCEEDED of a statement.
package quota

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Quota is how many objects of a kind one owner may have. Methods that create such objects name it in their contract.
type Quota struct {
	Name string
	Most int64
	// What are the objects and their owner, for people.
	What string
	// Orgs are the numbers of the organizations that have one of their own.
	Orgs map[string]int64
}

// In returns the number in an organization.
func (q Quota) In(orgID string) int64 {
	if most, own := q.Orgs[orgID]; own {
		return most
	}
	return q.Most
}

// The quotas without a trigger.
const (
	AppKeys     = "app_keys"
	IdpLinks    = "idp_links"
	ImportBytes = "import_bytes"
	Metadata    = "metadata"
	Sessions    = "sessions"
)

// All returns the table.
func All() []Quota {
	return []Quota{
		// It allows a rotation on many machines, and a person can still read the list.
		{Name: AppKeys, Most: 20, What: "keys of an application"},
		{Name: "apps", Most: 1_000, What: "applications of a project"},
		{Name: IdpLinks, Most: 20, What: "accounts at identity providers of a user"},
		{Name: "idps", Most: 100, What: "identity providers of an organization"},
		{Name: ImportBytes, Most: 4 << 30,
			What: "bytes on the disk of a gateway for the imports of an organization's users"},
		{Name: "keys", Most: 100, What: "keys of a machine user"},
		{Name: "members", Most: 10_000, What: "members of an organization, a project or the instance"},
		// With values of at most 64 KiB so many fit in one answer.
		{Name: Metadata, Most: 100, What: "keys of metadata of a user"},
		{Name: "pats", Most: 100, What: "personal access tokens of a user"},
		{Name: "project_grants", Most: 10_000, What: "grants of a project"},
		{Name: "projects", Most: 10_000, What: "projects of an organization"},
		{Name: "roles", Most: 1_000, What: "roles of a project"},
		{Name: Sessions, Most: 100, What: "sessions of a user; a login beyond it ends the oldest"},
		{Name: "user_grants", Most: 1_000, What: "grants of a user in an organization"},
	}
}

// Known reports whether there is a quota with that name.
func Known(name string) bool {
	return slices.ContainsFunc(All(), func(q Quota) bool { return q.Name == name })
}

// Settings are the operator's changes of the table.
type Settings struct {
	Quotas string `env:"HERALD_QUOTAS"`
}

// Help implements boot.Documented.
func (Settings) Help() map[string]string {
	var table []string
	for _, q := range All() {
		table = append(table, fmt.Sprintf("%s=%d (%s)", q.Name, q.Most, q.What))
	}
	return map[string]string{
		"HERALD_QUOTAS": "how many objects there may be, where the defaults are not right, such as " +
			"pats=200,roles=5000; roles@ORG_ID=9000 is the number in one organization; the defaults are " +
			strings.Join(table, ", ") + ". What is there already stays if a quota becomes smaller",
	}
}

// Table returns the table with the operator's changes.
func (s Settings) Table() ([]Quota, error) {
	all := All()
	var names []string
	for _, q := range all {
		names = append(names, q.Name)
	}
	for part := range strings.SplitSeq(s.Quotas, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		key, text, _ := strings.Cut(part, "=")
		name, org, one := strings.Cut(strings.TrimSpace(key), "@")
		at := slices.IndexFunc(all, func(q Quota) bool { return q.Name == name })
		most, err := strconv.ParseUint(strings.TrimSpace(text), 10, 62)
		if at < 0 || err != nil || one && org == "" {
			return nil, fmt.Errorf(
				"HERALD_QUOTAS: %q is not a quota with a number, such as pats=200 or pats@ORG_ID=200; "+
					"the quotas are %s", part, strings.Join(names, ", "))
		}
		if !one {
			all[at].Most = int64(most)
			continue
		}
		if all[at].Orgs == nil {
			all[at].Orgs = map[string]int64{}
		}
		all[at].Orgs[org] = int64(most)
	}
	return all, nil
}

// Of returns a quota of the table with the operator's changes.
func (s Settings) Of(name string) (Quota, error) {
	all, err := s.Table()
	if err != nil {
		return Quota{}, err
	}
	return all[slices.IndexFunc(all, func(q Quota) bool { return q.Name == name })], nil
}
