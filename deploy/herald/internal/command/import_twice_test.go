package command

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"herald/shared/gen/fault/usersfault"
)

// Users of a file who conflict are found at any distance. The same user again is not a conflict,
// nor is one after a refused user.
func TestRefuseTwice(t *testing.T) {
	t.Parallel()
	const between = 3000
	row := func(id, name, more string) string {
		return fmt.Sprintf(`{"userId":%q,"user":{"userName":%q%s}}`, id, name, more)
	}
	link := func(account string) string { return `,"idps":[{"configId":"c","externalUserId":"` + account + `"}]` }
	people := []string{row("a", "a", ""), row("b", "Straße", ""), row("c", "c", link("1")), row("bad", "x", "")}
	for i := range between {
		people = append(people, row(fmt.Sprint(i), fmt.Sprint("name", i), ""))
	}
	people = append(people,
		`{ "user": {"userName":"a"}, "userId":"a" }`, // equal to the first
		row("a", "other", ""), row("d", "STRASSE ", ""), row("e", "e", link(" 1 ")), row("f", "f", link("2")),
		row("bad", "x", `,"phone":{"phone":"+41791234567"}`), row("g", "x", ""), row("g2", "f", ""), `{"userId":7}`)
	machines := []string{row("h", "name7", ""), row("a", "a", ""), row("m", "m", "")}
	name := t.TempDir() + "/people.json"
	text := `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[` + strings.Join(people, ",") + `],"machineUsers":[` +
		strings.Join(machines, ",") + `]}]}}`
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := openImport(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := &importAnswer{failed: map[uint64]bool{4: true}, reasons: map[string]uint64{}}
	a.check.NewUsers = uint64(len(people) + len(machines))
	var said bytes.Buffer
	if err := a.refuseTwice(f, &said); err != nil || said.Len() > 0 {
		t.Fatal(err, said.String())
	}
	a.printRefusals(&said)
	var want []string
	const first = " of the file has the same id and other content"
	for i, says := range map[int]string{
		2: "a of o: user 1" + first, 3: "d of o: user 2 of the file has the same user name",
		4:  "e of o: user 3 of the file is linked to the same account",
		7:  "g of o: user 3010 of the file has the same user name",
		8:  "g2 of o: user 3009 of the file has the same user name",
		10: "h of o: user 12 of the file has the same user name", 11: "a of o: user 1" + first,
	} {
		row := uint64(between + 4 + i)
		want = append(want, fmt.Sprintf("user %d %s\n", row, says))
		if !a.failed[row] {
			t.Errorf("user %d is not refused", row)
		}
	}
	got := slices.Collect(strings.Lines(said.String()))
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s, want\n%s", strings.Join(got, ""), strings.Join(want, ""))
	}
	if a.reasons[usersfault.ErrImportDiffers.ID] != 2 || a.reasons[usersfault.ErrUserNameTaken.ID] != 4 ||
		a.reasons[usersfault.ErrIdpLinkTaken.ID] != 1 ||
		a.check.NewUsers != uint64(len(people)+len(machines)-7) {
		t.Errorf("%v, %d new", a.reasons, a.check.NewUsers)
	}
}
