package inbox

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/textproto"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

func TestMailsOutliveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, dir)
	address := serve(t, in)
	for _, id := range []string{"1", "2", "3"} {
		if err := send(address, letter(id)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"mail 3", "mail 2", "mail 1"}
	if got := subjects(in); !slices.Equal(got, want) {
		t.Errorf("before: %q", got)
	}
	if _, found := in.find(in.newest("")[1].ID); !found {
		t.Error("mail 2 is not found")
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := send(address, letter("4")); err == nil {
		t.Error("a closed inbox took a mail")
	}
	again := open(t, dir)
	if got := subjects(again); !slices.Equal(got, want) {
		t.Errorf("after: %q", got)
	}
	for i, m := range again.newest("") {
		if m.Read != (i == 1) {
			t.Errorf("%s was read: %t", m.Subject, m.Read)
		}
	}
	if again.drop(func(int, *Summary) bool { return true }); len(again.mails) > 0 {
		t.Error("mails are left")
	}
	if left, err := filepath.Glob(dir + "/*.read"); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	acknowledged := sendUntilKilled(strings.TrimSpace(address), cmd.Process)
	cmd.Wait()
	kept := subjects(open(t, dir))
	for _, id := range acknowledged {
		if !slices.Contains(kept, "mail "+id) {
			t.Errorf("mail %s was acknowledged and is lost", id)
		}
	}
	if partial, _ := filepath.Glob(filepath.Join(dir, "*"+partialSuffix)); len(partial) > 0 {
		t.Errorf("left behind: %q", partial)
	}
}

// sendUntilKilled sends mails from several clients, kills the server at the thirtieth
// acknowledgement, and returns the acknowledged mails.
func sendUntilKilled(address string, server *os.Process) []string {
	var mu sync.Mutex
	var acknowledged []string
	var clients sync.WaitGroup
	for client := range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d.%d", client, i)
				if send(address, letter(id)) != nil {
					return
				}
				mu.Lock()
				if acknowledged = append(acknowledged, id); len(acknowledged) == 30 {
					server.Kill()
				}
				mu.Unlock()
			}
		})
	}
	clients.Wait()
	return acknowledged
}

func TestRepeatsAreDroppedAndCounted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, dir)
	address := serve(t, in)
	var senders sync.WaitGroup
	for range 5 { // in parallel: one is stored, and no 250 comes before that
		senders.Go(func() {
			if err := send(address, letter("same")); err != nil {
				t.Error(err)
			}
		})
	}
	senders.Wait()
	put(t, in, "Subject: without an id\n\none")
	put(t, in, "Subject: without an id\n\ntwo")
	check := func(in *Inbox, repeats int) {
		t.Helper()
		mails := in.newest(`subject:"mail same"`)
		if all := in.newest(""); len(mails) != 1 || len(all) != 3 || mails[0].Repeats != repeats {
			t.Errorf("%d of %d mails, %+v", len(mails), len(all), mails)
		}
	}
	check(in, 4)
	in.Close()
	in = open(t, dir)
	check(in, 4)
	put(t, in, letter("same"))
	check(in, 5)
	in.empty(nil)
	put(t, in, letter("same"))
	if mails := in.newest(""); len(mails) != 1 || mails[0].Repeats != 0 {
		t.Errorf("after all were deleted: %+v", mails)
	}
}

func TestFailedMailMayComeAgain(t *testing.T) {
	t.Parallel()
	in := open(t, filepath.Join(t.TempDir(), "inbox"))
	address := serve(t, in)
	away := in.dir + ".away"
	if err := os.Rename(in.dir, away); err != nil {
		t.Fatal(err)
	}
	err := send(address, letter("1"))
	if reply, ok := errors.AsType[*textproto.Error](err); !ok || reply.Code != 451 {
		t.Errorf("without a directory: %v", err)
	}
	if err := os.Rename(away, in.dir); err != nil {
		t.Fatal(err)
	}
	if err := send(address, letter("1")); err != nil {
		t.Fatal(err)
	}
	if mails := in.newest(""); len(mails) != 1 || mails[0].Repeats != 0 {
		t.Errorf("%+v", mails)
	}
}

func TestBounds(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	address := serve(t, in)
	big := letter("big") + strings.Repeat("0123456789abcdef\n", maxMessage/17)
	many := make([]string, maxRecipients+1)
	for i := range many {
		many[i] = fmt.Sprintf("user%d@example.com", i)
	}
	for name, err := range map[string]error{
		"size": send(address, big), "recipients": send(address, letter("many"), many...),
	} {
		t.Run(name, func(t *testing.T) {
			if reply, ok := errors.AsType[*textproto.Error](err); !ok || reply.Code < 400 {
				t.Errorf("%v", err)
			}
		})
	}
	if got := subjects(in); len(got) > 0 {
		t.Errorf("kept %q", got)
	}
	if err := send(address, letter("all"), many[:maxRecipients]...); err != nil {
		t.Error(err)
	}
}

func TestOldestMailsAreDeletedBeyondTheBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := open(t, dir)
	put(t, in, letter("oldest"))
	put(t, in, letter("oldest"))
	for range maxMails - 1 {
		in.insert(&Summary{ID: uuid.Must(uuid.NewV7()).String(), Size: 1})
	}
	if got := len(in.newest("")); got != maxMails {
		t.Fatalf("%d mails", got)
	}
	put(t, in, letter("newest"))
	mails := in.newest("")
	if len(mails) != maxMails || mails[0].Subject != "mail newest" || mails[maxMails-1].Subject != "" {
		t.Errorf("%d mails from %q to %q", len(mails), mails[0].Subject, mails[len(mails)-1].Subject)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	in.insert(&Summary{ID: uuid.Must(uuid.NewV7()).String(), Size: maxBytes})
	put(t, in, letter("last"))
	if got := subjects(in); !slices.Equal(got, []string{"mail last"}) {
		t.Errorf("beyond the bytes: %d mails", len(got))
	}
}

func TestPartialFilesAreRemovedAndForeignOnesKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	partial := uuid.Must(uuid.NewV7()).String() + mailSuffix + partialSuffix
	foreign := []string{"notes.txt", "notes.eml", uuid.NewString() + mailSuffix}
	for _, name := range append(foreign, partial) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(letter("x")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := subjects(open(t, dir)); len(got) > 0 {
		t.Errorf("shows %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, partial)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", partial, err)
	}
	for _, name := range foreign {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

func TestOneInboxPerDirectory(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	if _, err := Open(in.dir, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), in.dir) {
		t.Errorf("a second one: %v", err)
	}
}

func TestOnlyLoopbackIsServed(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	if err := open(t, t.TempDir()).ServeSMTP(t.Context(), l); err == nil {
		t.Error("serves all addresses")
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is left: %v", err)
	}
}

func TestArrivalClosesTheChannel(t *testing.T) {
	t.Parallel()
	in := open(t, t.TempDir())
	arrival := in.Arrival()
	select {
	case <-arrival:
		t.Fatal("closed before")
	default:
	}
	put(t, in, letter("1"))
	select {
	case <-arrival:
	case <-time.After(10 * time.Second):
		t.Error("not closed")
	}
}
