package consumer

import (
	"fmt"

	"github.com/nats-io/nats.go"

	"herald/shared/contract"
)

// Listen calls changed after every event of this service, because it may be one of SmtpChanged, and after each
// interruption of the connection, because one may have been missed. The subscription is that of every replica: an
// event in the stream reaches only one of them.
func Listen(conn *nats.Conn, changed func()) error {
	if _, err := conn.Subscribe(contract.WakeSubject("notification"), func(*nats.Msg) { changed() }); err != nil {
		return fmt.Errorf("listen for changes of the mail server: %w", err)
	}
	status := conn.StatusChanged(nats.CONNECTED, nats.CLOSED)
	go func() {
		defer conn.RemoveStatusListener(status)
		for is := range status {
			if is == nats.CLOSED {
				return
			}
			changed()
		}
	}()
	return conn.Flush() // after this the server has the subscription
}
