package tenancy_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"herald/shared/caller"
	"herald/shared/contract"
)

// place says in which organization or project an object is.
type place int

const (
	own place = iota
	// sibling is in another project of the same organization than the one in the request.
	sibling
	foreign
	nowhere
	// ofOwner and ofForeignOwner are own and foreign, with a user who owns the organization; ofViewer
	// is own with one who reads the instance, which an owner does not.
	ofOwner
	ofForeignOwner
	ofViewer
	// removed is last: removed+n stands for the objects of which the one at the nth field is gone.
	removed
)

func (p place) in(some ...place) bool { return slices.Contains(some, p) }

// ids are the ids of objects by the fields that name them.
type ids map[string]string

// object is the objects of a call. The field at names an object in another place than the others do;
// if at is -1, all do.
type object struct {
	fields []string
	ids    ids
	at     int
	place  place
	// roles are those of the user acted on.
	roles []caller.Membership
	// self says that callers act on themselves.
	self bool
}

func (o object) String() string {
	what := "all"
	if o.at >= 0 {
		what = o.fields[o.at]
	}
	if o.self {
		what = "of the caller"
	} else if o.roles != nil {
		what = "of an owner"
	}
	return map[place]string{
		own: "own", sibling: "sibling", foreign: "foreign", nowhere: "missing", removed: "removed",
	}[o.place] + " " + what
}

// of returns the place of the object that a field names.
func (o object) of(field string) place {
	if n := slices.Index(o.fields, field); n < 0 || o.at >= 0 && n != o.at {
		return own
	}
	return o.place
}

// names reports whether an object of a kind is among those of a method.
func (o object) names(kind string, m contract.Method) bool {
	return slices.ContainsFunc(o.fields, func(f string) bool { return kindOf(string(m.Name()), f) == kind })
}

// objects returns the combinations of places for which a method is called.
func (w *world) objects(m contract.Method) (all []object) {
	fields, in := fieldsOf(m), w.placed(m)
	o := object{fields: fields, at: -1, ids: in[own]}
	all = append(all, o)
	if len(fields) == 0 {
		return all
	}
	lone := slices.ContainsFunc(fields, func(f string) bool { return references[string(m.Name())+"."+f] }) ||
		len(fields) == 1
	o.place, o.ids = foreign, in[foreign]
	all = append(all, o)
	for n, f := range fields {
		k := kinds[kindOf(string(m.Name()), f)]
		for _, p := range []place{sibling, foreign, nowhere} {
			if p == sibling && lone || p != nowhere && k.instance {
				continue
			}
			with := maps.Clone(in[own])
			with[f] = in[p][f]
			all = append(all, object{fields: fields, ids: with, at: n, place: p})
		}
		if gone := in[removed+place(n)]; gone != nil {
			all = append(all, object{fields: fields, ids: gone, at: n, place: removed})
		}
	}
	if m.Access.ActsOn != "" {
		all = append(all,
			object{fields: fields, ids: in[ofOwner], at: -1, place: own, roles: ownerOf(w.own.org)},
			object{fields: fields, ids: in[ofForeignOwner], at: -1, place: foreign, roles: ownerOf(w.foreign.org)},
			object{fields: fields, ids: in[ofViewer], at: -1, place: own,
				roles: []caller.Membership{{Roles: []string{"IAM_OWNER_VIEWER"}}}})
	}
	return all
}

func ownerOf(org string) []caller.Membership {
	return []caller.Membership{{OrganizationID: org, Roles: []string{"ORG_OWNER"}}}
}

// selves returns the objects of one caller's calls that are about that caller.
func (w *world) selves(m contract.Method, v visitor) []object {
	if m.Access.ActsOn == "" || !m.Access.FreshLogin || v.id == "" {
		return nil
	}
	o := w.objects(m)[0]
	o.self, o.ids = true, maps.Clone(o.ids)
	o.ids[m.Access.ActsOn] = v.id
	return []object{o}
}

// kindsOf returns the names of the kinds of a method's objects. Methods with the same share them.
func kindsOf(m contract.Method) string {
	var names []string
	for _, f := range fieldsOf(m) {
		names = append(names, kindOf(string(m.Name()), f))
	}
	if m.Access.ActsOn != "" {
		names = append(names, "acted on")
	}
	return strings.Join(names, " ")
}

// place makes objects for all methods, at once.
func (w *world) place(methods []contract.Method) {
	first := map[string]contract.Method{}
	for _, m := range methods {
		for _, f := range fieldsOf(m) {
			if k := kindOf(string(m.Name()), f); kinds[k].create == nil && kinds[k].insert == "" {
				w.t.Fatalf("how is a %q made, which %s of %s names? Add to kinds in foreign_kinds_test.go the "+
					"requests that make and remove one", k, f, m.Name())
			}
		}
		first[kindsOf(m)] = m
	}
	each(slices.Collect(maps.Values(first)), func(m contract.Method) { w.placed(m) })
}

// placed makes objects for a method in every place, once for all methods with the same kinds of
// objects.
func (w *world) placed(m contract.Method) map[place]ids {
	w.placing.Lock()
	found := w.places[kindsOf(m)]
	w.placing.Unlock()
	if found != nil {
		return found
	}
	made := map[place]ids{
		own: w.fresh(w.own, m), sibling: w.fresh(w.own, m), foreign: w.fresh(w.foreign, m), nowhere: {},
	}
	if field := m.Access.ActsOn; field != "" {
		for p, s := range map[place]site{ofOwner: w.own, ofForeignOwner: w.foreign} {
			made[p] = w.fresh(s, m)
			w.must(s.org, "POST /management/v1/orgs/me/members", fmt.Sprintf(`{"userId":%q,"roles":["ORG_OWNER"]}`,
				made[p][field]))
		}
		made[ofViewer] = w.fresh(w.own, m)
		w.must("", "POST /admin/v1/members", fmt.Sprintf(`{"userId":%q,"roles":["IAM_OWNER_VIEWER"]}`,
			made[ofViewer][field]))
	}
	for n, f := range fieldsOf(m) {
		made[nowhere][f] = "nowhere"
		k, s := kinds[kindOf(string(m.Name()), f)], w.own
		if k.remove == "" {
			continue
		}
		if n == 0 { // only its creator ever had a role on it
			s.member = w.make(w.own, "user", nil, "user_id")
		}
		gone := w.fresh(s, m)
		if k.itself {
			s.org = gone[f]
		}
		w.must(s.org, w.fill(s, gone, strings.ReplaceAll(k.remove, "{removed}", gone[f])), "")
		made[removed+place(n)] = gone
	}
	w.placing.Lock()
	defer w.placing.Unlock()
	for _, p := range []place{foreign, ofForeignOwner} {
		w.victims = append(w.victims, slices.Collect(maps.Values(made[p]))...)
	}
	w.places[kindsOf(m)] = made
	return made
}

// fresh makes new objects for a method.
func (w *world) fresh(s site, m contract.Method) ids {
	made := ids{}
	for _, f := range fieldsOf(m) {
		made[f] = w.make(s, kindOf(string(m.Name()), f), made, f)
	}
	return made
}

// make makes an object within existing ones.
func (w *world) make(s site, name string, in ids, field string) string {
	k, id := kinds[name], w.unique()
	all := maps.Clone(in)
	if all == nil {
		all = ids{}
	}
	if k.insert != "" {
		w.querying.Lock()
		db := w.db[cmp.Or(k.in, "users")]
		_, err := db.Exec(w.t.Context(), strings.ReplaceAll(w.fill(s, all, k.insert), "{id}", id))
		w.querying.Unlock()
		if err != nil {
			w.t.Error(err)
		}
		return id
	}
	for n, step := range k.create {
		filled := func(template string) string { return strings.ReplaceAll(w.fill(s, all, template), "{id}", id) }
		answer := w.must(s.org, filled(step[0]), filled(step[1]))
		if n > 0 {
			continue
		}
		switch {
		case k.answer != "":
			all[field], _ = answer[k.answer].(string)
		case answer["userId"] != nil:
			all[field] = answer["userId"].(string)
		default:
			all[field] = id
		}
	}
	return all[field]
}

func (w *world) unique() string { return fmt.Sprintf("n%06d", w.count.Add(1)) }

// fill replaces the names in a template by ids and new values.
func (w *world) fill(s site, of ids, template string) string {
	pairs := []string{"{new}", "{id}", "{member}", s.member, "{org}", s.org, "{home}", s.home, "{caller}", s.caller,
		"{third}", w.third, "{partner}", s.partner, "{publicKey}", w.publicKey}
	for f, id := range of {
		pairs = append(pairs, "{"+f+"}", id)
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// prepare brings new objects and the organization into the state that a method needs.
func (w *world) prepare(s site, m contract.Method, of ids) {
	if id := of["notification_id"]; id != "" {
		w.mailKnown(id)
	}
	if first, ok := before[string(m.Name())]; ok {
		w.must(s.org, w.fill(s, of, first), `{"subject":"Welcome","phone":"+41791234567","primaryColor":"#0b6e4f"}`)
	}
}
