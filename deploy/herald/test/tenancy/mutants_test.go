//go:build mutants

package tenancy_test

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"herald/shared/contract"
)

// mostTries is for how many methods a check is removed that the calls of many methods reach.
const mostTries = 8

// mutant is a check that `make mutants` can remove, as its list says.
type mutant struct {
	N                      int
	Kind, ID, File, Method string
}

// concerns reports whether the calls of a method may notice that the check is removed: it is the
// method's own, or an owner or parent in its service or in what the services share.
func (c mutant) concerns(m contract.Method) bool {
	name := string(m.FullName())
	if c.Kind != "owner" && c.Kind != "parent" {
		return c.Method == name
	}
	service := strings.Split(name, ".")[1]
	return strings.HasPrefix(c.File, "services/"+service+"/") || strings.HasPrefix(c.File, "shared/")
}

// finding says for which method the matrix noticed that a check was removed, or with an empty ID
// that a method is done.
type finding struct{ ID, By string }

// removals runs the calls of one method after the other with one check after the other removed.
type removals struct {
	*testing.T
	dir     string
	cells   *os.File // of the package mutant
	mutants []mutant
	found   *os.File
	todo    []contract.Method
	tried   map[string]bool
	tries   map[int]int
}

// The calls of a method succeed, and fail while a check that they reach is removed. The variables of
// the environment are those of `make mutants`, which reads the findings.
func TestMutants(t *testing.T) {
	r := &removals{T: t, dir: os.Getenv("MUTANTS_DIR"), tried: map[string]bool{}, tries: map[int]int{}}
	var shard, shards int
	if _, err := fmt.Sscanf(os.Getenv("MUTANTS_SHARD"), "%d/%d", &shard, &shards); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join(r.dir, "mutants.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(list, &r.mutants); err != nil {
		t.Fatal(err)
	}
	if r.cells, err = os.OpenFile(os.Getenv("MUTANTS"), os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	found := filepath.Join(r.dir, "matrix.jsonl")
	if r.found, err = os.OpenFile(found, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644); err != nil {
		t.Fatal(err)
	}
	for n, m := range (&world{t: t}).methods() {
		if n%shards == shard && r.concerns(m) && !slices.Contains(r.findings(), finding{By: string(m.FullName())}) {
			r.todo = append(r.todo, m)
		}
	}
	for len(r.todo) > 0 {
		t.Run("world", r.within)
	}
}

// concerns reports whether the calls of a method may notice that one of the checks is removed.
func (r *removals) concerns(m contract.Method) bool {
	return slices.ContainsFunc(r.mutants, func(c mutant) bool { return c.concerns(m) })
}

// within works in a world until a removed check has damaged it.
func (r *removals) within(t *testing.T) {
	w := newWorld(t)
	visitors, headers := w.visitors(), w.headers()
	calls := func(m contract.Method, removed int) bool {
		return t.Run(fmt.Sprintf("%s without %d", m.Name(), removed), func(t *testing.T) {
			w.t = t
			r.calls(w, m, visitors, headers, removed)
		})
	}
	for first := true; len(r.todo) > 0; first = false {
		m := r.todo[0]
		if !calls(m, 0) {
			if first {
				t.Errorf("the calls of %s fail with all checks", m.FullName())
				r.todo = r.todo[1:]
			}
			return
		}
		clean := true
		for _, c := range r.reached(m) {
			if !clean && !calls(m, 0) {
				return
			}
			r.tried[string(m.Name())+c.ID], clean = true, true
			r.tries[c.N]++
			if !calls(m, c.N) {
				r.find(finding{c.ID, string(m.FullName())})
				clean = false
			}
		}
		r.find(finding{By: string(m.FullName())})
		r.todo = r.todo[1:]
	}
}

// calls makes the calls of a method for new objects while a check is removed.
func (r *removals) calls(w *world, m contract.Method, visitors []visitor, headers []header, removed int) {
	w.places, w.victims = map[string]map[place]ids{}, nil
	w.place([]contract.Method{m})
	rows, open := w.matrix(m, visitors, headers)
	for _, made := range w.places {
		if id := made[foreign]["notification_id"]; id != "" {
			w.mailKnown(id)
		}
	}
	w.counts(0, `org_id = $1 and due_at is not null`, w.foreign.org)
	before := w.fingerprint()
	if removed == 0 {
		r.write(1, make([]uint32, cells-1)...)
	}
	r.write(0, uint32(removed))
	defer r.write(0, 0)
	unchanged := func() {
		if after := w.fingerprint(); after != before {
			w.t.Errorf("another organization has changed: %s", difference(before, after))
		}
	}
	each(rows, func(one *row) {
		if !w.t.Failed() {
			w.refuses(one)
		}
	})
	unchanged()
	each(open, func(a attempt) {
		if !w.t.Failed() {
			w.allows(a)
		}
	})
	unchanged()
}

// cells is the number of cells of the package mutant.
const cells = 1 << 12

func (r *removals) write(at int, values ...uint32) {
	b, _ := binary.Append(nil, binary.NativeEndian, values)
	if _, err := r.cells.WriteAt(b, int64(4*at)); err != nil {
		r.Error(err)
	}
}

// reached returns the checks that the last calls of a method reached, without those that were noticed
// already or cannot be noticed here.
func (r *removals) reached(m contract.Method) (all []mutant) {
	b := make([]byte, 4*cells)
	if _, err := r.cells.ReadAt(b, 0); err != nil {
		r.Error(err)
	}
	found := r.findings()
	for _, c := range r.mutants {
		noticed := slices.ContainsFunc(found, func(f finding) bool { return f.ID == c.ID })
		if c.concerns(m) && !noticed && binary.NativeEndian.Uint32(b[4*c.N:]) != 0 && r.tries[c.N] < mostTries &&
			!r.tried[string(m.Name())+c.ID] {
			all = append(all, c)
		}
	}
	return all
}

func (r *removals) find(f finding) {
	line, _ := json.Marshal(f)
	if _, err := r.found.Write(append(line, '\n')); err != nil {
		r.Error(err)
	}
}

// findings returns what all processes found up to now.
func (r *removals) findings() (all []finding) {
	text, err := os.ReadFile(filepath.Join(r.dir, "matrix.jsonl"))
	if err != nil {
		r.Error(err)
	}
	for lines := bufio.NewScanner(strings.NewReader(string(text))); lines.Scan(); {
		var f finding
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			r.Error(err)
		}
		all = append(all, f)
	}
	return all
}
