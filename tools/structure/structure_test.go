package structure

import (
	"os"
	"regexp"
	"testing"
)

// users is the store whose queries ask for memberships.
const users = `^services/users/internal/store/`

// excused lists mistakes that may stay, each with the reason.
var excused = []struct{ wrong, why string }{
	{`^gateway/transcode/plan.go:\d+: plans of the whole package changes`,
		"What is kept of a type of the contracts is worked out of it alone, and never changes."},
	{users + `member.go:\d+: SQL of ChangeMember says from members`, "The giver changes and ends pending ones too."},
	{users + `member.go:\d+: SQL of Members says .members m`, "The giver's list shows them with their state."},
	{users + `membership.go:\d+: SQL of membershipFrom says .members m`,
		"The other side's list shows them, and the other side accepts and ends them."},
	{users + `project.go:\d+: SQL of RemoveProjectMembers says from members`, "They end with the project."},
	{users + `removal.go:\d+: SQL of ofUsers says from members`, "They end with the user."},
	{users + `removal.go:\d+: SQL of SomeMembers says from members`, "They end with the organization."},
}

func TestRepositoryKeepsTheRules(t *testing.T) {
	t.Parallel()
	sources, err := read(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	if len(sources) < 400 {
		t.Errorf("only %d files were seen", len(sources))
	}
	all := check(sources)
	for _, e := range excused {
		pattern, kept := regexp.MustCompile(e.wrong), all[:0]
		for _, wrong := range all {
			if !pattern.MatchString(wrong) {
				kept = append(kept, wrong)
			}
		}
		if len(kept) == len(all) {
			t.Errorf("nothing is excused by %s: take it out", e.wrong)
		}
		all = kept
	}
	for _, wrong := range all {
		t.Error(wrong)
	}
}
