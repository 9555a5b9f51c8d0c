package cluster_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// network is machines that send each other packets, and this one, which all of them can reach.
type network struct {
	whole.Machine // this one
	machines      []whole.Machine
	// spaces are the names of the machines' network namespaces. There are none if the test may not make any: then all
	// machines are this one.
	spaces []string
}

// newNetwork makes a network. Its addresses are of the range for tests of networks (RFC 2544), and no packet leaves
// the namespaces.
func newNetwork(t *testing.T, size int) (n network) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil || os.Getuid() != 0 {
		return network{whole.Here, slices.Repeat([]whole.Machine{whole.Here}, size), nil}
	}
	id, subnet := fmt.Sprintf("h%05x", rand.N(1<<20)), fmt.Sprintf("198.18.%d.", rand.N(256))
	n.Machine = whole.Machine{Address: subnet + "1", Start: whole.Here.Start}
	add := func(space string) {
		t.Helper()
		t.Cleanup(func() { _, _ = ip("netns delete " + space) })
		must(t, "netns add "+space)
	}
	// The switch has a namespace of its own, because the filters of this machine may drop what a bridge passes on, as
	// Docker makes them do.
	hub := id + "-0"
	add(hub)
	must(t, "-n "+hub+" link add switch type bridge", "-n "+hub+" link set switch up",
		"link add "+id+" type veth peer name here netns "+hub, "-n "+hub+" link set here master switch up",
		"address add "+subnet+"1/24 dev "+id, "link set "+id+" up")
	for i := range size {
		space, port := fmt.Sprint(id, "-", i+1), fmt.Sprint("port", i+1)
		m := whole.Machine{Address: fmt.Sprint(subnet, i+2)}
		m.Start = func(c *exec.Cmd) error { return startIn(space, c) }
		add(space)
		must(t, "-n "+hub+" link add "+port+" type veth peer name eth0 netns "+space,
			"-n "+hub+" link set "+port+" master switch up",
			"-n "+space+" address add "+m.Address+"/24 dev eth0", "-n "+space+" link set eth0 up",
			"-n "+space+" link set lo up")
		n.machines, n.spaces = append(n.machines, m), append(n.spaces, space)
	}
	return n
}

// startIn starts a command in a network namespace.
func startIn(space string, c *exec.Cmd) error {
	inside := exec.Command("ip", append([]string{"netns", "exec", space, c.Path}, c.Args[1:]...)...)
	c.Path, c.Args, c.Err = inside.Path, inside.Args, inside.Err
	return c.Start()
}

// cut loses every packet from one machine to another one, without telling either: it addresses them to a network card
// that no machine has. mend ends that.
func (n network) cut(t *testing.T, from, to int) (mend func()) {
	t.Helper()
	neighbor := n.machines[to].Address + " dev eth0"
	must(t, "-n "+n.spaces[from]+" neighbour replace "+neighbor+" lladdr 02:00:00:00:00:ff nud permanent")
	return func() { must(t, "-n "+n.spaces[from]+" neighbour delete "+neighbor) }
}

func must(t *testing.T, commands ...string) {
	t.Helper()
	for _, c := range commands {
		if out, err := ip(c); err != nil {
			t.Fatalf("ip %s: %v: %s", c, err, out)
		}
	}
}

// ip calls the command of that name.
func ip(args string) (out []byte, err error) {
	return exec.Command("ip", strings.Fields(args)...).CombinedOutput()
}
