package whole

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"

	"herald/shared/bus"
	"herald/shared/secret"
)

// The environment of a process that is a NATS server for Processes.
const (
	natsDir     = "WHOLE_NATS_DIR"
	natsListen  = "WHOLE_NATS_LISTEN"
	natsKeyFile = "WHOLE_NATS_KEY_FILE"
)

// ServeNATS runs a NATS server if StartNATS has started the process, and does not return then. The TestMain of a
// package whose tests kill NATS calls it first.
func ServeNATS() {
	dir := os.Getenv(natsDir)
	if dir == "" {
		return
	}
	text, err := os.ReadFile(os.Getenv(natsKeyFile))
	if err == nil {
		var keys secret.Keys
		if keys, err = secret.ParseKeys(string(text)); err == nil {
			_, err = bus.Embedded{Dir: dir, Listen: os.Getenv(natsListen), Keys: keys}.Start()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("ready")
	select {}
}

// StartNATS runs the NATS server as a process, in place of the one in the test's own.
func (p *Processes) StartNATS() {
	p.T.Helper()
	if p.nats != nil {
		bus.Stop(p.nats)
		p.nats = nil
	}
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
	p.keep("nats", c)
	if !bufio.NewScanner(out).Scan() {
		p.T.Fatal("the NATS server has not started")
	}
}
