// Package inbox is the mail server of `herald run`: it takes every mail for every
// address, keeps it in a directory, and shows it on a page and through the REST API
// of Mailpit (version 1). It promises that a mail is on the disk before its sender
// hears 250, also when the process is killed right then; that a mail whose
// Message-ID it has is counted and not kept again; that it keeps the newest mails
// within fixed bounds; and that what a mail contains cannot run in the page.
package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"syscall"
)

// Bounds. The oldest mails go when there are more, or when they are bigger together;
// a mail that is too big, or for too many, is refused; a client too many waits.
const (
	maxMails       = 10_000
	maxBytes       = 512 << 20
	maxMessage     = 1 << 20 // bytes, announced as SIZE (RFC 1870)
	maxRecipients  = 100
	maxConnections = 64
)

// Inbox holds the mails of one directory, which it has to itself.
type Inbox struct {
	dir  string
	lock *os.File
	log  *slog.Logger

	deliveries sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	mails   []*Summary // by ID, hence the oldest first; what they point at never changes
	bytes   int
	known   map[string]*delivery // by Message-ID
	arrival chan struct{}        // closed and renewed when a mail arrives
}

// delivery is one Message-ID's way into the inbox.
type delivery struct {
	settled chan struct{} // closed when id or err is set
	id      string
	err     error
}

var errClosed = errors.New("inbox: closed")

// Open reads the mails in dir, which is made when it is missing and closed to other
// users: mails hold codes. It fails when another process has the directory.
func Open(dir string, log *slog.Logger) (*Inbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	lock, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	in := &Inbox{dir: dir, lock: lock, log: log, mails: []*Summary{}, known: map[string]*delivery{},
		arrival: make(chan struct{})}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("open inbox: another process is using %s: %w", dir, err)
	}
	if err := in.read(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	return in, nil
}

// Close waits for the mails that are being stored, refuses others, and gives up the
// directory.
func (in *Inbox) Close() error {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.deliveries.Wait()
	return in.lock.Close()
}

// Arrival returns a channel that is closed when the next mail has arrived.
func (in *Inbox) Arrival() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.arrival
}

// deliver stores a mail, unless its Message-ID is here already: then it waits until
// that mail is stored, and counts the repeat.
func (in *Inbox) deliver(raw []byte) error {
	m := parse(raw).Summary
	d, first, err := in.reserve(m.MessageID)
	if err != nil {
		return err
	}
	defer in.deliveries.Done()
	if !first {
		<-d.settled
		if d.err != nil {
			return d.err
		}
		return in.countRepeat(d.id)
	}
	m.ID, m.Created, d.err = in.store(raw)
	d.id = m.ID
	in.settle(d, &m)
	close(d.settled)
	return d.err
}

// reserve returns the Message-ID's delivery, and whether it is the caller's to do.
func (in *Inbox) reserve(messageID string) (d *delivery, first bool, err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.closed {
		return nil, false, errClosed
	}
	in.deliveries.Add(1)
	if d, ok := in.known[messageID]; ok {
		return d, false, nil
	}
	d = &delivery{settled: make(chan struct{})}
	if messageID != "" {
		in.known[messageID] = d
	}
	return d, true, nil
}

// settle makes a stored mail visible, or forgets one that could not be stored.
func (in *Inbox) settle(d *delivery, m *Summary) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if d.err != nil {
		delete(in.known, m.MessageID)
		return
	}
	in.insert(m)
	in.prune()
	close(in.arrival)
	in.arrival = make(chan struct{})
}

// insert keeps the order by ID, which mails that are stored side by side may leave.
func (in *Inbox) insert(m *Summary) {
	i, _ := in.index(m.ID)
	in.mails = slices.Insert(in.mails, i, m)
	in.bytes += m.Size
}

// index tells where in mails an ID is, or would be.
func (in *Inbox) index(id string) (i int, found bool) {
	return slices.BinarySearchFunc(in.mails, id, func(m *Summary, id string) int { return cmp.Compare(m.ID, id) })
}

// prune drops the oldest mails beyond the bounds.
func (in *Inbox) prune() {
	excess, bytes := 0, in.bytes
	for len(in.mails)-excess > maxMails || bytes > maxBytes {
		bytes -= in.mails[excess].Size
		excess++
	}
	if excess > 0 {
		in.drop(func(i int, _ *Summary) bool { return i < excess })
	}
}

// drop removes the mails that gone tells, and forgets their Message-IDs.
func (in *Inbox) drop(gone func(index int, m *Summary) bool) {
	kept := make([]*Summary, 0, len(in.mails))
	for i, m := range in.mails {
		if !gone(i, m) {
			kept = append(kept, m)
			continue
		}
		in.bytes -= m.Size
		delete(in.known, m.MessageID)
		in.remove(m.ID)
	}
	in.mails = kept
}

// update replaces a mail's summary by a changed copy, if the mail is still here.
func (in *Inbox) update(id string, change func(*Summary)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if i, found := in.index(id); found {
		changed := *in.mails[i]
		change(&changed)
		in.mails[i] = &changed
	}
}

// find returns a mail and its parts, and marks it as read. `latest` names the
// newest.
func (in *Inbox) find(id string) (Mail, bool) {
	m := in.lookUp(id)
	if m == nil {
		return Mail{}, false
	}
	raw, err := os.ReadFile(in.path(m.ID))
	if err != nil { // dropped in between
		return Mail{}, false
	}
	in.update(m.ID, func(m *Summary) { m.Read = true })
	mail := parse(raw)
	mail.ID, mail.Created, mail.Repeats, mail.Read = m.ID, m.Created, m.Repeats, true
	return mail, true
}

// lookUp returns nil for a mail that is not here.
func (in *Inbox) lookUp(id string) *Summary {
	in.mu.Lock()
	defer in.mu.Unlock()
	if n := len(in.mails); id == "latest" && n > 0 {
		return in.mails[n-1]
	}
	if i, found := in.index(id); found {
		return in.mails[i]
	}
	return nil
}

// newest lists the mails that match a query, the newest first.
func (in *Inbox) newest(query string) []*Summary {
	in.mu.Lock()
	mails := slices.Clone(in.mails)
	in.mu.Unlock()
	slices.Reverse(mails)
	if terms := parseQuery(query); len(terms) > 0 {
		mails = slices.DeleteFunc(mails, func(m *Summary) bool { return !in.matches(m, terms) })
	}
	return mails
}

// empty removes the named mails; all without a name.
func (in *Inbox) empty(ids []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drop(func(_ int, m *Summary) bool { return len(ids) == 0 || slices.Contains(ids, m.ID) })
}
