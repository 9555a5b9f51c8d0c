// Package inbox is the mail server of `herald run`. It accepts every mail to every address, stores
// it in a directory, and shows it on a page and through the REST API of Mailpit (version 1). A mail
// is on the disk before its sender gets 250. A mail with a known Message-ID is counted and not
// stored again. The oldest mails are deleted beyond fixed bounds. Scripts in a mail cannot run.
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

// Bounds. Beyond the number or the size of all mails the oldest are deleted. A mail that is too
// large or has too many recipients is refused. Clients beyond their number wait.
const (
	maxMails       = 10_000
	maxBytes       = 512 << 20
	maxMessage     = 1 << 20 // bytes, announced as SIZE (RFC 1870)
	maxRecipients  = 100
	maxConnections = 64
)

// Inbox holds the mails of one directory, which no other process may use.
type Inbox struct {
	dir     string
	dirFile *os.File // locked
	log     *slog.Logger

	deliveries sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	mails   []*Summary // by ID, so the oldest first; a Summary is never changed
	bytes   int
	known   map[string]*delivery // by Message-ID
	arrival chan struct{}        // closed and renewed when a mail arrives
}

// delivery is the storing of the mail with one Message-ID.
type delivery struct {
	settled chan struct{} // closed when id or err is set
	id      string
	err     error
}

var errClosed = errors.New("inbox: closed")

// Open reads the mails in dir. It makes dir if it is missing, readable only by this user, because
// mails contain codes. It fails if another process uses dir.
func Open(dir string, log *slog.Logger) (*Inbox, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	dirFile, err := os.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	in := &Inbox{dir: dir, dirFile: dirFile, log: log, mails: []*Summary{}, known: map[string]*delivery{},
		arrival: make(chan struct{})}
	if err := syscall.Flock(int(dirFile.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dirFile.Close()
		return nil, fmt.Errorf("open inbox: another process is using %s: %w", dir, err)
	}
	if err := in.read(); err != nil {
		dirFile.Close()
		return nil, fmt.Errorf("open inbox: %w", err)
	}
	return in, nil
}

// Close refuses new mails, waits for those that are being stored, and releases the directory.
func (in *Inbox) Close() error {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.deliveries.Wait()
	return in.dirFile.Close()
}

// Arrival returns a channel that is closed when the next mail has arrived.
func (in *Inbox) Arrival() <-chan struct{} {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.arrival
}

// deliver stores a mail. If there is one with its Message-ID, deliver waits until that one is stored
// and counts the repeat.
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

// reserve returns the delivery of a Message-ID, and whether the caller must do it.
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

// settle ends a delivery: it lists the stored mail, or removes a delivery that failed.
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

// insert inserts a mail by its ID. Mails that are stored in parallel do not come in order.
func (in *Inbox) insert(m *Summary) {
	i, _ := in.index(m.ID)
	in.mails = slices.Insert(in.mails, i, m)
	in.bytes += m.Size
}

// index returns the position of an ID in mails, or where it would be.
func (in *Inbox) index(id string) (i int, found bool) {
	return slices.BinarySearchFunc(in.mails, id, func(m *Summary, id string) int { return cmp.Compare(m.ID, id) })
}

// prune deletes the oldest mails beyond the bounds.
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

// drop deletes the mails for which gone returns true, with their Message-IDs.
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

// update replaces a mail's summary by a changed copy, if the mail still exists.
func (in *Inbox) update(id string, change func(*Summary)) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if i, found := in.index(id); found {
		changed := *in.mails[i]
		change(&changed)
		in.mails[i] = &changed
	}
}

// find returns a mail with its parts and marks it as read. The ID `latest` is the newest mail.
func (in *Inbox) find(id string) (Mail, bool) {
	m := in.lookUp(id)
	if m == nil {
		return Mail{}, false
	}
	raw, err := os.ReadFile(in.path(m.ID))
	if err != nil { // deleted meanwhile
		return Mail{}, false
	}
	if !m.Read {
		in.markRead(m.ID)
	}
	mail := parse(raw)
	mail.ID, mail.Created, mail.Repeats, mail.Read = m.ID, m.Created, m.Repeats, true
	return mail, true
}

// lookUp returns the summary of a mail, or nil if there is none.
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

// newest returns the mails that match a query, the newest first.
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

// empty deletes the mails with these IDs, or all without IDs.
func (in *Inbox) empty(ids []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.drop(func(_ int, m *Summary) bool { return len(ids) == 0 || slices.Contains(ids, m.ID) })
}
