package command

import (
	"crypto/sha256"
	"fmt"
	"hash/maphash"
	"io"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"herald/gateway/imports"
	"herald/gateway/transcode"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/search"
)

// mostTwice is the maximum number of repeated ids, names and accounts of a file that are compared.
const mostTwice = 100_000

// unique is a value that only one user can have.
type unique struct{ kind, value string }

// person is the part of a user that is compared with the other users of a file.
type person struct {
	uniques []unique
	// id is the user's id, and content a digest of the whole row.
	id      string
	content [sha256.Size]byte
}

// personOf returns false for a row that cannot be parsed, which the answer has named.
func personOf(r imports.Row) (p person, ok bool) {
	var row proto.Message
	var name string
	var links []*usersv1.IdpLink
	var err error
	if r.Machine {
		machine := &usersv1.ImportMachineUserRow{}
		err = transcode.Decode(r.JSON, machine)
		row, p.id, name = machine, machine.UserId, machine.User.GetUserName()
	} else {
		human := &usersv1.ImportHumanUserRow{}
		err = transcode.Decode(r.JSON, human)
		row, p.id, name, links = human, human.UserId, human.User.GetUserName(), human.User.GetIdps()
	}
	if err != nil {
		return p, false
	}
	text, err := proto.MarshalOptions{Deterministic: true}.Marshal(row)
	if err != nil {
		return p, false
	}
	p.content = sha256.Sum256(fmt.Appendf(text, "\x00%t\x00%s", r.Machine, r.OrgID))
	p.uniques = []unique{{usersfault.ErrImportDiffers.ID, p.id},
		{usersfault.ErrUserNameTaken.ID, search.Fold(strings.TrimSpace(name))}}
	for _, l := range links {
		p.uniques = append(p.uniques, unique{usersfault.ErrIdpLinkTaken.ID, l.ConfigId + "\x00" +
			strings.TrimSpace(l.ExternalUserId)})
	}
	return p, true
}

// refuseTwice refuses users who conflict with an earlier user of the file, because the server's
// check compares only users that are near each other. It reads the file twice: first it stores 8
// bytes for each id, name and account, then it compares those that are repeated.
func (a *importAnswer) refuseTwice(f *importFile, terminal io.Writer) error {
	seed := maphash.MakeSeed()
	sum := func(u unique) uint64 { return maphash.String(seed, u.kind+"\x00"+u.value) }
	var sums []uint64
	each := func(do func(imports.Row, person)) error {
		return f.each(func(r imports.Row) {
			if r.Err != nil || r.JSON == nil || a.failed[r.Number] {
				return
			}
			if p, ok := personOf(r); ok {
				do(r, p)
			}
		})
	}
	err := each(func(_ imports.Row, p person) {
		for _, u := range p.uniques {
			sums = append(sums, sum(u))
		}
	})
	twice := repeated(sums)
	if err != nil || len(twice) == 0 {
		return err
	}
	if len(twice) == mostTwice {
		fmt.Fprintf(terminal, "more than %d ids and names stand in the file twice: not all are looked at\n", mostTwice)
	}
	first := map[unique]seen{}
	return each(func(r imports.Row, p person) {
		var mine []unique
		for _, u := range p.uniques {
			before, there := first[u]
			switch {
			case there && before.content == p.content:
				return // the same row again, which is imported once
			case there:
				a.check.NewUsers -= min(1, a.check.NewUsers)
				a.refused(importError{
					Type: "human_user", ID: p.id, OrgID: r.OrgID, Reason: u.kind, Row: r.Number,
					Message: before.message(u.kind),
				})
				return
			case twice[sum(u)]:
				mine = append(mine, u)
			}
		}
		for _, u := range mine {
			first[u] = seen{r.Number, p.content}
		}
	})
}

// seen is the first user who has a value.
type seen struct {
	row     uint64
	content [sha256.Size]byte
}

func (s seen) message(kind string) string {
	switch kind {
	case usersfault.ErrImportDiffers.ID:
		return fmt.Sprintf("user %d of the file has the same id and other content", s.row)
	case usersfault.ErrUserNameTaken.ID:
		return fmt.Sprintf("user %d of the file has the same user name", s.row)
	default:
		return fmt.Sprintf("user %d of the file is linked to the same account", s.row)
	}
}

// repeated sorts numbers and returns at most mostTwice of those that occur at least twice.
func repeated(all []uint64) map[uint64]bool {
	slices.Sort(all)
	found := map[uint64]bool{}
	for i := 1; i < len(all) && len(found) < mostTwice; i++ {
		if all[i] == all[i-1] {
			found[all[i]] = true
		}
	}
	return found
}
