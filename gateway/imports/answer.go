package imports

import (
	"encoding/json"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"

	"herald/gateway/transcode"
	"herald/shared/fault"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// wholeImport is the type of an error that ended an import.
const wholeImport = "import"

// Answer is the response of a whole import. It is combined from the responses to the import's requests. It is partly in
// memory and partly on disk.
type Answer struct {
	// Imported counts the users who were imported, now or before. Refused counts the refused rows.
	Imported, Refused int
	// Ended is the fault that ended the import early, or nil.
	Ended *fault.Fault

	place Place
	check bool
	// success is the list of organizations in JSON without the end of the last one. machines is the
	// list of its machine users, which comes after that of its human users.
	success, machines, errors Spool
	org                       string
	orgs                      int
	ids                       [2]int // the numbers of human and machine users of the last organization
	counts                    *usersv1.CheckImportResponse
}

// add adds the response of a request. numbers[i] is the number of its row i+1.
func (a *Answer) add(response proto.Message, numbers []uint64) error {
	switch r := response.(type) {
	case *usersv1.ImportResponse:
		for _, org := range r.GetSuccess().GetOrgs() {
			if err := a.succeed(org); err != nil {
				return err
			}
		}
		return a.refused(r.Errors, numbers)
	case *usersv1.CheckImportResponse:
		a.count(r)
		return a.refused(r.Errors, numbers)
	}
	return nil
}

func (a *Answer) refused(all []*usersv1.ImportError, numbers []uint64) error {
	for _, e := range all {
		if e.Row > 0 && e.Row <= uint64(len(numbers)) {
			e.Row = numbers[e.Row-1]
		}
		if err := a.fail(e); err != nil {
			return err
		}
	}
	return nil
}

// fail adds an error.
func (a *Answer) fail(e *usersv1.ImportError) error {
	text, err := transcode.Encode(nil, e)
	if err != nil {
		return err
	}
	if e.Type != wholeImport {
		a.Refused++
	}
	if a.errors.size > 0 {
		text = append([]byte{','}, text...)
	}
	return a.errors.write(a.place, text)
}

func (a *Answer) succeed(org *usersv1.ImportedOrg) error {
	if a.orgs == 0 || a.org != org.OrgId {
		if err := a.begin(org.OrgId); err != nil {
			return err
		}
	}
	if err := a.list(&a.success, 0, org.HumanUserIds); err != nil {
		return err
	}
	return a.list(&a.machines, 1, org.MachineUserIds)
}

// begin ends the last organization and begins the next one.
func (a *Answer) begin(id string) error {
	if err := a.end(); err != nil {
		return err
	}
	name, err := json.Marshal(id)
	if err != nil {
		return err
	}
	text := append([]byte(`{"orgId":`), name...)
	if a.orgs > 0 {
		text = append([]byte{','}, text...)
	}
	a.org, a.ids = id, [2]int{}
	a.orgs++
	return a.success.write(a.place, append(text, `,"humanUserIds":[`...))
}

func (a *Answer) end() error {
	if a.orgs == 0 {
		return nil
	}
	defer a.machines.close()
	machines, err := a.machines.reader()
	if err != nil {
		return err
	}
	for _, part := range []io.Reader{
		bytesOf(`],"machineUserIds":[`), machines, bytesOf(`]}`),
	} {
		if _, err := io.Copy(spooled{&a.success, a.place}, part); err != nil {
			return err
		}
	}
	return nil
}

func (a *Answer) list(to *Spool, kind int, ids []string) error {
	var text []byte
	a.Imported += len(ids)
	for _, id := range ids {
		if a.ids[kind]++; a.ids[kind] > 1 {
			text = append(text, ',')
		}
		quoted, err := json.Marshal(id)
		if err != nil {
			return err
		}
		text = append(text, quoted...)
	}
	return to.write(a.place, text)
}

func (a *Answer) count(r *usersv1.CheckImportResponse) {
	a.counts.NewUsers += r.NewUsers
	a.counts.KnownUsers += r.KnownUsers
	a.counts.Mails += r.Mails
	for _, f := range r.HashFormats {
		i := slices.IndexFunc(a.counts.HashFormats, func(k *usersv1.HashFormat) bool { return k.Format == f.Format })
		if i < 0 {
			a.counts.HashFormats = append(a.counts.HashFormats, f)
			continue
		}
		a.counts.HashFormats[i].Accepted += f.Accepted
		a.counts.HashFormats[i].Refused += f.Refused
	}
}

// Reader returns a reader of the whole answer, a line of JSON. It is valid until Close.
func (a *Answer) Reader() (io.Reader, error) {
	errors, err := a.errors.reader()
	if err != nil {
		return nil, err
	}
	if a.check {
		text, err := transcode.Encode(nil, a.counts)
		if err != nil {
			return nil, err
		}
		// The last member is the list of errors, which is empty here.
		head := text[:len(text)-len(`]}`)]
		return io.MultiReader(bytesOf(string(head)), errors, bytesOf("]}\n")), nil
	}
	if err := a.end(); err != nil {
		return nil, err
	}
	success, err := a.success.reader()
	if err != nil {
		return nil, err
	}
	return io.MultiReader(bytesOf(`{"success":{"orgs":[`), success, bytesOf(`]},"errors":[`), errors,
		bytesOf("]}\n")), nil
}

// Close removes the parts on disk.
func (a *Answer) Close() {
	a.success.close()
	a.machines.close()
	a.errors.close()
}
