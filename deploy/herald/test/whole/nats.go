package whole

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats-server/v2/server"

	"herald/shared/bus"
	"herald/shared/secret"
)

// The environment of a process that is a NATS server for Processes.
const (
	natsDir     = "WHOLE_NATS_DIR"
	natsListen  = "WHOLE_NATS_LISTEN"
	natsKeyFile = "WHOLE_NATS_KEY_FILE"
)

// ServeNATS runs a NATS server if StartNATS has started the process, and does not return then. SIGTERM stops
// it. The TestMain of a package whose tests kill NATS calls it first.
func ServeNATS() {
	dir := os.Getenv(natsDir)
	if dir == "" {
		return
	}
	ctx, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	text, err := os.ReadFile(os.Getenv(natsKeyFile))
	var s *server.Server
	if err == nil {
		var keys secret.Keys
		if keys, err = secret.ParseKeys(string(text)); err == nil {
			s, err = bus.Embedded{Dir: dir, Listen: os.Getenv(natsListen), Keys: keys}.Start()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	<-ctx.Done()
	bus.Stop(s)
	os.Exit(0)
}

// StartNATS runs the NATS server as a process, in place of the one in the test's own.
func (p *Processes) StartNATS() {
	p.T.Helper()
	p.StopNATS()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), natsDir+"="+p.Dir+"/nats", natsListen+"="+p.natsAddress,
		natsKeyFile+"="+p.Dir+"/secrets/keys/master.key")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err != nil {
		p.T.Fatal(err)
	}
	if err := c.Start(); err != nil {
		p.T.Fatal(err)
	}
	p.Keep("nats", c)
	if !bufio.NewScanner(out).Scan() {
		p.T.Fatal("the NATS server has not started")
	}
}

// StopNATS stops the NATS server in the test's own process, if it runs.
func (p *Processes) StopNATS() {
	if p.nats != nil {
		bus.Stop(p.nats)
		p.nats = nil
	}
}
