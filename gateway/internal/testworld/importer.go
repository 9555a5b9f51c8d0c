package testworld

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"herald/shared/caller"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// Importer is the import of the service users. It records the requests, and refuses users whose id begins with bad.
type Importer struct {
	mu       sync.Mutex
	requests []string
	ids      []string
	hook     func(n int, r *usersv1.ImportRequest) error
}

// ImportUsers implements usersv1.UsersServer.
func (u *Users) ImportUsers(ctx context.Context, r *usersv1.ImportRequest) (*usersv1.ImportResponse, error) {
	i := &u.Importer
	i.mu.Lock()
	hook, n := i.hook, len(i.requests)
	rows := 0
	for _, o := range r.DataOrgs.GetOrgs() {
		rows += len(o.HumanUsers)
	}
	i.requests = append(i.requests, fmt.Sprintf("%s %d", caller.From(ctx).OrganizationID, rows))
	i.mu.Unlock()
	if hook != nil {
		if err := hook(n, r); err != nil {
			return nil, err
		}
	}
	out, row := &usersv1.ImportResponse{Success: &usersv1.ImportSuccess{}}, uint64(0)
	for _, o := range r.DataOrgs.GetOrgs() {
		done := &usersv1.ImportedOrg{OrgId: o.OrgId}
		for _, h := range o.HumanUsers {
			if row++; strings.HasPrefix(h.UserId, "bad") {
				out.Errors = append(out.Errors, &usersv1.ImportError{
					Type: "human_user", Id: h.UserId, Row: row, Message: "Bad", Reason: "BAD",
				})
				continue
			}
			done.HumanUserIds = append(done.HumanUserIds, h.UserId)
			i.mu.Lock()
			i.ids = append(i.ids, h.UserId)
			i.mu.Unlock()
		}
		out.Success.Orgs = append(out.Success.Orgs, done)
	}
	return out, nil
}

// On makes Importer call hook with each request before the answer, and with the number of requests before it.
func (i *Importer) On(hook func(n int, r *usersv1.ImportRequest) error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hook = hook
}

// Seen returns the requests, each as the organization and the number of rows, and the ids of the imported users.
func (i *Importer) Seen() (requests, ids []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]string(nil), i.requests...), append([]string(nil), i.ids...)
}

// CheckImport implements usersv1.UsersServer.
func (u *Users) CheckImport(_ context.Context, r *usersv1.ImportRequest) (*usersv1.CheckImportResponse, error) {
	n := uint64(len(r.DataOrgs.Orgs[0].HumanUsers))
	if n == 0 {
		return nil, errors.New("no users")
	}
	return &usersv1.CheckImportResponse{
		NewUsers: n, HashFormats: []*usersv1.HashFormat{{Format: "x", Accepted: n}},
	}, nil
}

// ImportAnswer is the answer of a bulk import.
type ImportAnswer struct {
	Success struct {
		Orgs []struct {
			OrgID                        string
			HumanUserIDs, MachineUserIDs []string
		}
	}
	Errors []struct {
		Type, ID, OrgID, Message, Reason, Row string
	}
}

// Imported returns the answer of a bulk import.
func (a Answer) Imported(t testing.TB) (out ImportAnswer) {
	t.Helper()
	a.OK(t)
	if err := json.Unmarshal(a.Text, &out); err != nil || !bytes.HasSuffix(a.Text, []byte("}\n")) {
		t.Fatalf("%v: %.300s", err, a.Text)
	}
	return out
}
