package imports

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"herald/gateway/transcode"
	"herald/shared/fault"
	"herald/shared/gen/fault/gatewayfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/retry"
)

const (
	// The maximum size of one request.
	maxRows  = 1000
	maxBytes = 512 << 10
	// plainRow is how many rows a user with a plain password counts as, because hashing takes so
	// long.
	plainRow = 20

	maxSent = 2
	// maxOrgs is how many organizations can have rows that wait for a full request.
	maxOrgs = 16
	tries   = 8
	// grace is how long the requests under way may take after the end of an import, so that its answer contains their
	// users. An abandoned import gets no such time, because nobody reads its answer and another caller may wait for its
	// slot.
	grace = 3 * time.Second
)

// Import sends the rows of an import in requests, two at a time.
type Import struct {
	// Call sends a request about one organization.
	Call func(ctx context.Context, orgID string, r *usersv1.ImportRequest) (proto.Message, error)
	// Check reports that the method is CheckImport.
	Check bool
	// Place is where the answer is written that does not fit in memory.
	Place Place

	answer  *Answer
	batches []*batch
	sent    []sentBatch
	// proven reports whether a request succeeded. Before that, a fault refuses the whole import.
	proven bool
}

// batch is a request to which rows are added.
type batch struct {
	org *usersv1.ImportOrg
	// humans and machines are the numbers of the rows.
	humans, machines []uint64
	bytes            int
	weight           int
}

// numbers returns the numbers of the rows in the order of the request.
func (b *batch) numbers() []uint64 {
	return append(b.humans[:len(b.humans):len(b.humans)], b.machines...)
}

type sentBatch struct {
	*batch
	done chan outcome
}

type outcome struct {
	response proto.Message
	err      error
}

// Run imports a body. It returns an error if the first request fails; then nothing was imported. After that it returns
// an answer, which has the error if the import ended early. After the end of ctx no request is sent, and the requests
// under way are canceled after grace at the latest.
func (i *Import) Run(ctx context.Context, read func(row func(Row) error) error) (*Answer, error) {
	i.answer = &Answer{place: i.Place, check: i.Check, counts: &usersv1.CheckImportResponse{}}
	err := read(func(r Row) error { return i.row(ctx, r) })
	if whole := err == nil || errors.Is(err, gatewayfault.ErrImportBrokenOff) ||
		errors.Is(err, gatewayfault.ErrJSONMalformed); whole || i.proven {
		err = errors.Join(err, i.rest(ctx))
	}
	missing := errors.Is(err, gatewayfault.ErrImportDataMissing)
	if !i.proven && (err == nil || missing) { // without users too, a request checks the permission
		err = cmp.Or(i.send(ctx, &batch{}), err)
	}
	if err == nil {
		return i.answer, nil
	}
	i.receiveRest()
	if !i.proven || missing || errors.Is(err, gatewayfault.ErrImportDiskFull) ||
		errors.Is(err, fault.ErrQuotaExceeded) {
		// the answer needs the disk too
		i.answer.Close()
		return nil, err
	}
	f := fault.From(err)
	i.answer.Ended = f
	return i.answer, i.answer.fail(&usersv1.ImportError{Type: wholeImport, Message: f.Message, Reason: f.ID})
}

// row adds a row to the next request of its organization.
func (i *Import) row(ctx context.Context, r Row) error {
	if err := cause(ctx); err != nil {
		return err
	}
	var human usersv1.ImportHumanUserRow
	var machine usersv1.ImportMachineUserRow
	if err := r.decode(&human, &machine); err != nil {
		return i.refuse(r, human.UserId+machine.UserId, err)
	}
	b := i.batch(r)
	if r.Org != nil && b.org.Org == nil {
		b.org.Org = &usersv1.ImportedOrgData{}
		if err := transcode.Decode(r.Org, b.org.Org); err != nil {
			return err
		}
	}
	switch {
	case r.JSON == nil:
	case r.Machine:
		b.org.MachineUsers = append(b.org.MachineUsers, &machine)
		b.machines = append(b.machines, r.Number)
	default:
		b.org.HumanUsers = append(b.org.HumanUsers, &human)
		b.humans = append(b.humans, r.Number)
	}
	b.bytes += len(r.JSON)
	b.weight++
	if human.User.GetPassword() != "" {
		b.weight += plainRow - 1
	}
	if b.weight >= maxRows || b.bytes >= maxBytes {
		return i.flush(ctx, b)
	}
	if len(i.batches) > maxOrgs {
		return i.flush(ctx, i.batches[0])
	}
	return nil
}

// decode decodes the row's user into the message of its kind. A row without a user is only an organization's.
func (r Row) decode(human, machine proto.Message) error {
	switch {
	case r.Err != nil || r.JSON == nil:
		return r.Err
	case r.Machine:
		return transcode.Decode(r.JSON, machine)
	default:
		return transcode.Decode(r.JSON, human)
	}
}

func (i *Import) refuse(r Row, id string, err error) error {
	f := fault.From(err)
	kind := "human_user"
	if r.Machine {
		kind = "machine_user"
	}
	return i.answer.fail(&usersv1.ImportError{
		Type: kind, Id: id, Message: f.Message, Reason: f.ID, Row: r.Number, OrgId: r.OrgID,
	})
}

// batch returns the next request of an organization.
func (i *Import) batch(r Row) *batch {
	for _, b := range i.batches {
		if b.org.OrgId == r.OrgID {
			return b
		}
	}
	b := &batch{org: &usersv1.ImportOrg{OrgId: r.OrgID}}
	i.batches = append(i.batches, b)
	return b
}

// flush sends a request, to which no more rows are added.
func (i *Import) flush(ctx context.Context, b *batch) error {
	i.batches = slices.DeleteFunc(i.batches, func(other *batch) bool { return other == b })
	return i.send(ctx, b)
}

// rest sends the remaining requests and waits for all responses.
func (i *Import) rest(ctx context.Context) error {
	for len(i.batches) > 0 {
		if err := i.flush(ctx, i.batches[0]); err != nil {
			return err
		}
	}
	for len(i.sent) > 0 {
		if err := i.receive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// send sends a request. It waits for the response to the first one, so that a fault of it refuses
// the import before anything is written.
func (i *Import) send(ctx context.Context, b *batch) error {
	if len(i.sent) == maxSent {
		if err := i.receive(ctx); err != nil {
			return err
		}
	}
	if err := cause(ctx); err != nil {
		return err
	}
	f := sentBatch{b, make(chan outcome, 1)}
	i.sent = append(i.sent, f)
	go func() {
		response, err := i.call(ctx, b)
		f.done <- outcome{response, err}
	}()
	if !i.proven {
		return i.receive(ctx)
	}
	return nil
}

// call sends a request again until it succeeds or fails for good. A repeated request imports
// nothing twice.
func (i *Import) call(ctx context.Context, b *batch) (proto.Message, error) {
	r := &usersv1.ImportRequest{}
	if b.org != nil {
		r.DataOrgs = &usersv1.ImportData{Orgs: []*usersv1.ImportOrg{b.org}}
	}
	longer, stop := retry.Extend(ctx, longerBy)
	defer stop()
	for try := 1; ; try++ {
		response, err := i.Call(longer, b.org.GetOrgId(), r)
		if err != nil && ctx.Err() != nil {
			err = cause(ctx)
		}
		if err == nil || try == tries || ctx.Err() != nil {
			return response, err
		}
		f := fault.From(err)
		switch f.Code {
		case fault.Unavailable, fault.Exhausted, fault.Deadline:
		default:
			return nil, err
		}
		if !retry.Wait(ctx, max(f.RetryAfter, time.Second)) {
			return nil, cause(ctx)
		}
	}
}

// cause returns why ctx has ended, or nil. A context without a cause has ended with its connection.
func cause(ctx context.Context) error {
	err := context.Cause(ctx)
	if errors.Is(err, context.Canceled) {
		return gatewayfault.ErrImportAbandoned
	}
	return err
}

// longerBy returns how long the requests under way may take after the end of an import, and the reason why they end
// then. If the client has closed the connection, they end at once.
func longerBy(ctx context.Context) (time.Duration, error) {
	err := cause(ctx)
	if errors.Is(err, gatewayfault.ErrImportAbandoned) {
		return 0, err
	}
	return grace, err
}

// receive waits for the oldest response and adds it to the answer.
func (i *Import) receive(ctx context.Context) error {
	f := i.sent[0]
	i.sent = i.sent[1:]
	o := <-f.done
	if o.err == nil {
		i.proven = true
		return i.answer.add(o.response, f.numbers())
	}
	refused := fault.From(o.err)
	if !i.proven || ctx.Err() != nil || refused.Code != fault.Denied && refused.Code != fault.Invalid &&
		refused.Code != fault.NotFound {
		return o.err
	}
	// The whole request was refused, and nothing was written.
	for n, h := range f.org.GetHumanUsers() {
		if err := i.refuse(Row{Number: f.humans[n], OrgID: f.org.OrgId}, h.UserId, refused); err != nil {
			return err
		}
	}
	for n, m := range f.org.GetMachineUsers() {
		r := Row{Number: f.machines[n], OrgID: f.org.OrgId, Machine: true}
		if err := i.refuse(r, m.UserId, refused); err != nil {
			return err
		}
	}
	return nil
}

// receiveRest waits for the sent requests and adds their responses to the answer.
func (i *Import) receiveRest() {
	for _, f := range i.sent {
		if o := <-f.done; o.err == nil {
			_ = i.answer.add(o.response, f.numbers())
		}
	}
	i.sent = nil
}
