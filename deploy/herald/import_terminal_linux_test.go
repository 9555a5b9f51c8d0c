package main_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
)

// On a terminal an import shows its progress, within the terminal's width. ^C ends it with an exit code and a message
// that says what to do, whether or not the answer has begun.
func TestImportOnATerminal(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"before the answer": "", "in the answer": `{"success":{"orgs":[{"orgId":"o","humanUserIds":["u0",`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if answer != "" {
					_, _ = io.WriteString(w, answer)
					_ = http.NewResponseController(w).Flush()
				}
				close(asked)
				<-r.Context().Done()
			}))
			t.Cleanup(server.Close)
			i := importer{&whole.Instance{T: t}, t.TempDir()}
			var rows []string
			for k := range 2000 {
				rows = append(rows, importRow(fmt.Sprint("u", k), whole.Hash))
			}
			file := i.file("people.json", `{"dataOrgs":{"orgs":[{"orgId":"o","humanUsers":[`+strings.Join(rows, ",")+
				`]}]}}`)
			out, code := i.interrupted(40, asked, answer == "", file, "--url", server.URL, "--token-file",
				i.file("token", "hrld_x"))
			for frame := range strings.SplitSeq(out, "\r") {
				frame, _, _ = strings.Cut(frame, "\x1b[K")
				if strings.Contains(frame, " sent") && len(frame) > 39 {
					t.Errorf("%q is wider than the terminal", frame)
				}
			}
			said := strings.Join(strings.Fields(out), " ") // without the line breaks of a narrow terminal
			if code != 1 ||
				!strings.Contains(said, "herald: interrupted: a part may be imported; send the file again") {
				t.Errorf("exit code %d, %q", code, out)
			}
		})
	}
}

// interrupted runs an import on a terminal and types ^C once the server has the request and, with bar, the bar says so.
// It returns what the terminal showed.
func (i importer) interrupted(columns uint16, asked <-chan struct{}, bar bool, args ...string) (out string, code int) {
	i.T.Helper()
	person, program := testkit.Terminal(i.T, columns)
	c := exec.Command(whole.Binary(i.T), append([]string{"import"}, args...)...)
	c.Stdin, c.Stdout, c.Stderr = program, program, program
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		i.T.Fatal(err)
	}
	_ = program.Close()
	limit := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer limit.Stop()
	var shown bytes.Buffer
	all, seen := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(all)
		shownWaiting := false
		for r := bufio.NewReader(person); ; {
			b, err := r.ReadByte()
			if err != nil { // the program has ended
				return
			}
			shown.WriteByte(b)
			if !shownWaiting && strings.HasSuffix(shown.String(), "sent, waiting") {
				shownWaiting = true
				close(seen)
			}
		}
	}()
	<-asked
	if bar {
		<-seen
	}
	if _, err := person.Write([]byte{3}); err != nil {
		i.T.Error(err)
	}
	err := c.Wait()
	<-all
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		i.T.Fatal(err)
	}
	return shown.String(), c.ProcessState.ExitCode()
}
