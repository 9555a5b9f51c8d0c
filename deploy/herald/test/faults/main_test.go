package faults_test

import (
	"flag"
	"os"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

var kills = flag.Int("kills", 0, "how often each test of kills kills; a few times if 0")

// awayFor is how long a server stays away after clients have noticed it.
var awayFor = flag.Duration("away", 0, "how long servers are away after clients have noticed it; not longer if 0")

// rounds is how often a test kills, which is few times unless somebody asks for more.
func rounds(few int) int {
	if *kills > 0 {
		return *kills
	}
	return few
}

// spare is how much later than on a machine with nothing else to do an answer may come: other tests run beside these,
// and two processors may be shared by fifty processes. With -kills the tests have the machine for themselves.
func spare() time.Duration {
	if *kills > 0 {
		return 2 * time.Second
	}
	return 6 * time.Second
}

func TestMain(m *testing.M) {
	whole.ServeNATS()
	// Most of the time these tests wait, for a restart, a lease or the next try.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
