package smtp

import (
	"bytes"
	"errors"
	"net/textproto"
	"sync"

	"github.com/wneessen/go-mail/smtp"
)

// errUnasked ends a session. An answer that comes before its command would be taken for the answer to that command.
var errUnasked = errors.New("the mail relay answered before it was asked")

// unasked returns errUnasked if an answer was read that nobody has asked for.
func unasked(text *textproto.Conn) error {
	if text.R.Buffered() > 0 {
		return errUnasked
	}
	return nil
}

// dialogue is the connection of a client. It reads all the time, so that it notices what the relay sends before it is
// asked. Then no more commands are sent and no more answers are read.
type dialogue struct {
	conn *textproto.Conn
	// text is what the client reads and writes. It has the dialogue as its connection.
	text *textproto.Conn

	mu     sync.Mutex
	came   *sync.Cond
	unread bytes.Buffer // package smtp bounds what a relay may send
	err    error
}

// converse puts a dialogue below a client. It ends when the connection is closed.
func converse(client *smtp.Client) *dialogue {
	d := &dialogue{conn: client.Text}
	d.came = sync.NewCond(&d.mu)
	d.text = textproto.NewConn(d)
	client.Text = d.text
	go d.listen()
	return d
}

func (d *dialogue) listen() {
	b := make([]byte, 4096)
	for {
		n, err := d.conn.R.Read(b)
		d.mu.Lock()
		d.unread.Write(b[:n])
		if d.err == nil {
			d.err = err
		}
		d.came.Signal()
		d.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// Read waits for what the relay sends.
func (d *dialogue) Read(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.unread.Len() == 0 && d.err == nil {
		d.came.Wait()
	}
	if d.unread.Len() > 0 && !errors.Is(d.err, errUnasked) {
		return d.unread.Read(b)
	}
	return 0, d.err
}

// Write fails if there is an answer that nobody has asked for.
func (d *dialogue) Write(b []byte) (int, error) {
	if err := d.check(); err != nil {
		return 0, err
	}
	if _, err := d.conn.W.Write(b); err != nil {
		return 0, err
	}
	return len(b), d.conn.W.Flush()
}

// check returns errUnasked if there is an answer that nobody has asked for.
func (d *dialogue) check() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unread.Len() > 0 || unasked(d.text) != nil {
		d.err = errUnasked
	}
	if errors.Is(d.err, errUnasked) {
		return errUnasked
	}
	return nil
}

// Close closes the connection.
func (d *dialogue) Close() error { return d.conn.Close() }
