package imports

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// full makes a Spool write to a full disk.
func full(t *testing.T, s *Spool) {
	t.Helper()
	file, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s.file, s.writer = file, bufio.NewWriterSize(file, 1<<10)
}

// accept returns responses as if every row was imported.
func accept(_ context.Context, orgID string, r *usersv1.ImportRequest) (proto.Message, error) {
	done := &usersv1.ImportedOrg{OrgId: orgID}
	for _, o := range r.DataOrgs.GetOrgs() {
		for _, h := range o.HumanUsers {
			done.HumanUserIds = append(done.HumanUserIds, h.UserId)
		}
		for _, m := range o.MachineUsers {
			done.MachineUserIds = append(done.MachineUserIds, m.UserId)
		}
	}
	return &usersv1.ImportResponse{Success: &usersv1.ImportSuccess{Orgs: []*usersv1.ImportedOrg{done}}}, nil
}

func run(i *Import, body string) (*Answer, error) {
	b := Body{Place: i.Place}
	return i.Run(context.Background(), func(row func(Row) error) error {
		b.Row = row
		return b.Read(strings.NewReader(body))
	})
}

// A caller without the permission is refused for that, also if the body has no users.
func TestImportWithoutUsersAsksForThePermission(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]error{
		`{}`: nil, `{"dataOrg":{}}`: gatewayfault.ErrImportDataMissing,
	} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			if _, err := run(&Import{Call: accept}, body); !errors.Is(err, want) {
				t.Errorf("permitted: %v, want %v", err, want)
			}
			denied := func(context.Context, string, *usersv1.ImportRequest) (proto.Message, error) {
				return nil, fault.ErrPermissionDenied
			}
			if _, err := run(&Import{Call: denied}, body); !errors.Is(err, fault.ErrPermissionDenied) {
				t.Errorf("not permitted: %v", err)
			}
		})
	}
}

// A full disk is reported as ErrImportDiskFull, at every place that needs the disk.
func TestImportOnAFullDisk(t *testing.T) {
	t.Parallel()
	row := `{"userId":"` + strings.Repeat("x", 1<<10) + `"}`
	many := strings.Repeat(row+",", 2*inMemory/len(row)) + row
	nowhere := t.TempDir() + "/none"
	late := `{"dataOrgs":{"orgs":[{"humanUsers":[` + many + `],"orgId":"o"}]}}`
	_, err := run(&Import{Call: accept, Place: Place{Folder: nowhere}}, late)
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	var early Spool
	full(t, &early)
	for range 10 {
		if err = early.put(Place{}, false, []byte(row)); err != nil {
			break
		}
	}
	if !errors.Is(err, gatewayfault.ErrImportDiskFull) || fault.From(err).HTTPStatus() != 503 ||
		fault.From(err).RetryAfter == 0 {
		t.Errorf("users that wait: %v", err)
	}
	i := &Import{}
	i.Call = func(ctx context.Context, orgID string, r *usersv1.ImportRequest) (proto.Message, error) {
		if i.answer.success.file == nil {
			full(t, &i.answer.success)
		}
		return accept(ctx, orgID, r)
	}
	_, err = run(i, `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[`+many+`]}]}}`)
	if !errors.Is(err, gatewayfault.ErrImportDiskFull) {
		t.Errorf("a long answer: %v", err)
	}
}

// An answer that does not fit in memory is complete: each row once, human and machine users in
// their lists.
func TestAnswerLongerThanTheMemory(t *testing.T) {
	t.Parallel()
	const n = 40_000
	var body strings.Builder
	body.WriteString(`{"dataOrgs":{"orgs":[`)
	for _, org := range []string{"o", "p"} {
		if org == "p" {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"orgId":%q,"machineUsers":[`, org)
		for k := range n {
			fmt.Fprintf(&body, `{"userId":"m%d"},`, k)
		}
		body.WriteString(`[]],"humanUsers":[`)
		for k := range n {
			fmt.Fprintf(&body, `{"userId":"h%d"},`, k)
		}
		body.WriteString(`{"userId":1}]}`)
	}
	body.WriteString(`]}}`)
	folder := t.TempDir()
	answer, err := run(&Import{Call: accept, Place: Place{Folder: folder}}, body.String())
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("files with names: %v, %v", left, err)
	}
	r, err := answer.Reader()
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Success struct {
			Orgs []struct {
				OrgID                        string
				HumanUserIDs, MachineUserIDs []string
			}
		}
		Errors []struct{ Type, Row string }
	}
	if err := json.Unmarshal(text, &got); err != nil || len(got.Success.Orgs) != 2 || len(got.Errors) != 4 {
		t.Fatalf("%v: %.300s", err, text)
	}
	for _, o := range got.Success.Orgs {
		if len(o.HumanUserIDs) != n || len(o.MachineUserIDs) != n {
			t.Errorf("%s: %d people, %d machines", o.OrgID, len(o.HumanUserIDs), len(o.MachineUserIDs))
		}
		for k := range o.HumanUserIDs {
			if o.HumanUserIDs[k] != fmt.Sprint("h", k) || o.MachineUserIDs[k] != fmt.Sprint("m", k) {
				t.Fatalf("%s: %s and %s at %d", o.OrgID, o.HumanUserIDs[k], o.MachineUserIDs[k], k)
			}
		}
	}
	if e := got.Errors; e[0].Type != "machine_user" || e[0].Row != fmt.Sprint(n+1) || e[3].Row != fmt.Sprint(4*n+4) {
		t.Errorf("%v", e)
	}
}

// Rows of many organizations in turn are not sent in a request each.
func TestOrganizationsInTurns(t *testing.T) {
	t.Parallel()
	var body strings.Builder
	for k := range 1000 {
		fmt.Fprintf(&body, `{"orgId":"o%d","userId":"u%d","user":{}}`+"\n", k%10, k)
	}
	requests := 0
	i := &Import{Call: func(ctx context.Context, orgID string, r *usersv1.ImportRequest) (proto.Message, error) {
		requests++
		return accept(ctx, orgID, r)
	}}
	b := Body{Lines: true}
	answer, err := i.Run(context.Background(), func(row func(Row) error) error {
		b.Row = row
		return b.Read(strings.NewReader(body.String()))
	})
	if err != nil || requests != 10 {
		t.Fatalf("%d requests, %v", requests, err)
	}
	answer.Close()
}

// Everything on the disk is counted while it is there, and an import that may write no more ends.
func TestBytesOnTheDiskAreCounted(t *testing.T) {
	t.Parallel()
	row := `{"userId":"` + strings.Repeat("x", 1<<10) + `"}`
	body := `{"dataOrgs":{"orgs":[{"humanUsers":[` + strings.Repeat(row+",", 1000) + row + `],"orgId":"o"}]}}`
	var now, most, refusals int64
	limit := int64(1 << 40)
	place := Place{Folder: t.TempDir(), Count: func(n int64) error {
		if now+n > limit {
			refusals++
			return fault.ErrQuotaExceeded
		}
		now += n
		most = max(most, now)
		return nil
	}}
	answer, err := run(&Import{Call: accept, Place: place}, body)
	if err != nil || now == 0 || most < 1500<<10-2*inMemory {
		t.Fatalf("%v, %d bytes, at most %d", err, now, most)
	}
	if answer.Close(); now != 0 {
		t.Errorf("%d bytes are left", now)
	}
	for _, limit = range []int64{100 << 10, most - inMemory} {
		refusals = 0
		_, err := run(&Import{Call: accept, Place: place}, body)
		if !errors.Is(err, fault.ErrQuotaExceeded) || refusals == 0 || now != 0 {
			t.Errorf("%d bytes at most: %v, %d bytes are left", limit, err, now)
		}
	}
}
