package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"herald/shared/fault"
)

const importHelp = `Import users from a file into a running Herald. The file has the shape of the bulk import,
or a user in each line (NDJSON); either may be compressed with gzip.

With --check nothing is written. The output is the number of new users, the users that would be
refused with the reasons, the password hashes that can be verified, and the number of mails that
would be sent.

A file with unknown fields, such as misspelled ones, is refused before anything is imported. The
error names each of them, with the line of the first one. With --ignore-unknown they are ignored.

A refused user does not stop the others. The refused users are written to a file of the same shape,
to be corrected and imported. An import can be sent again at any time: users who were imported
already stay as they are and get no second mail.

Exit codes: 1 if a user was not imported, the import ended early, or the file has unknown fields;
else as for "herald call".`

// importFlags are the flags of an import.
type importFlags struct {
	call          callFlags
	check         bool
	ignoreUnknown bool
	failed        string
}

func importUsers() *cobra.Command {
	var f importFlags
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Import users from a file",
		Long:  importHelp,
		Example: `  herald import people.json --check
  herald import people.ndjson.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			err := f.run(c.Context(), args[0], c.OutOrStdout(), c.ErrOrStderr())
			if c.Context().Err() != nil && err != nil {
				return errors.New("interrupted: a part may be imported; send the file again for the rest")
			}
			return err
		},
	}
	flags := c.Flags()
	flags.BoolVar(&f.check, "check", false, "report what the import would do, and write nothing")
	flags.BoolVar(&f.ignoreUnknown, "ignore-unknown", false, "ignore unknown fields instead of refusing the file")
	flags.StringVar(&f.failed, "failed", "", "file for the refused users; if empty, FILE with .failed in its "+
		"name")
	f.call.atInstance(flags)
	f.call.asCaller(flags)
	return c
}

// nameFailed names the file for the refused users if no flag does, and refuses one that cannot be written.
func (f *importFlags) nameFailed(file *importFile) error {
	if f.failed == "" {
		f.failed = file.failedName()
	}
	if err := file.isNot(f.failed); err != nil || f.check {
		return err
	}
	if err := canWrite(f.failed); err != nil {
		return fmt.Errorf("%w: name another file for the refused users with --failed", err)
	}
	return nil
}

func (f *importFlags) run(ctx context.Context, name string, out, terminal io.Writer) error {
	file, err := openImport(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.nameFailed(file); err != nil {
		return err
	}
	unknown := f.refuseUnknown(file, terminal)
	if unknown != nil && !f.check {
		return unknown
	}
	began := time.Now()
	answer, err := f.send(ctx, file, terminal)
	if err != nil {
		return file.because(file.blame(err))
	}
	defer answer.Close()
	result, err := readAnswer(answer)
	if err != nil {
		return fmt.Errorf("the answer broke off: %w; send the file again", err)
	}
	took := time.Since(began)
	if f.check && result.ended == "" {
		if err := result.refuseTwice(file, terminal); err != nil {
			return err
		}
	}
	result.printRefusals(terminal)
	result.print(out, name, f.check, took)
	if len(result.failed) > 0 && !f.check {
		if err := file.keepFailed(f.failed, result.failed); err != nil {
			return err
		}
		fmt.Fprintln(terminal, folded("the refused users are in "+line(f.failed), terminal))
	}
	switch {
	case result.ended != "":
		about, _ := file.say(result.ended)
		return file.because(fmt.Errorf("the import ended early: %s", line(about)))
	case result.empty():
		return fmt.Errorf("%s has no users: they are expected in dataOrgs.orgs[].humanUsers and machineUsers",
			name)
	}
	return errors.Join(result.err(), unknown)
}

// canWrite returns an error if a file cannot be written. It leaves the file as it is.
func canWrite(name string) error {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return errors.Join(file.Close(), os.Remove(name))
	}
	if file, err = os.OpenFile(name, os.O_WRONLY, 0); err != nil {
		return err
	}
	return file.Close()
}

// send sends the file, as fast as it is imported, and returns the body of the answer.
func (f *importFlags) send(ctx context.Context, file *importFile, terminal io.Writer) (io.ReadCloser, error) {
	url, token, err := f.call.instance(ctx)
	switch {
	case err != nil:
		return nil, err
	case token.Empty():
		return nil, errNoToken
	}
	url += "/admin/v1/import"
	if f.check {
		url += "/_check"
	}
	body, done := file.body(terminal)
	defer done()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = file.size
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	r.Header.Set("Content-Type", "application/json")
	if file.lines {
		r.Header.Set("Content-Type", "application/x-ndjson")
	}
	if file.packed {
		r.Header.Set("Content-Encoding", "gzip")
	}
	client := &http.Client{ // do not send the token to another address
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: dialNarrow},
	}
	w, err := client.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%s; send the file again: users who were imported already stay as they are",
			line(err.Error()))
	}
	if w.StatusCode != http.StatusOK {
		defer w.Body.Close()
		return nil, refusedBody(w)
	}
	return w.Body, nil
}

// dialNarrow connects with a small send buffer, because the progress counts what is in it as sent. When an import
// breaks off, what is still in the buffer is not sent any more, so that the server notices the end at once.
func dialNarrow(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if tcp, ok := c.(*net.TCPConn); ok && err == nil {
		err = errors.Join(tcp.SetWriteBuffer(128<<10), tcp.SetLinger(0))
	}
	return c, err
}

// blame adds the name of the file to an error about its content.
func (f *importFile) blame(err error) error {
	r, ok := errors.AsType[*refusal](err)
	if ok && r.fault.Code == fault.Invalid {
		about, named := f.say(r.fault.Message)
		if !named {
			about = f.name + ": " + about
		}
		r.fault = r.fault.Say("%s", about)
	}
	return err
}

// say returns a message of the server in which the file's name replaces the word for the request's body. It reports
// whether the message is about the body.
func (f *importFile) say(words string) (text string, named bool) {
	about, named := strings.CutPrefix(words, "The body ")
	if !named {
		return words, false
	}
	return f.name + " " + about, true
}

// refusedBody returns the error in the body of an answer.
func refusedBody(w *http.Response) error {
	text, err := io.ReadAll(io.LimitReader(w.Body, 1<<20))
	var s status.Status
	if err != nil || protojson.Unmarshal(text, &s) != nil {
		return fmt.Errorf("%s answered %s", w.Request.URL.Host, w.Status)
	}
	return &refusal{fault.FromStatus(&s), w.Header.Get("X-Request-Id")}
}

// isNot returns an error if the file for refused users is the file itself.
func (f *importFile) isNot(failed string) error {
	mine, err := f.Stat()
	if err != nil {
		return err
	}
	if other, err := os.Stat(failed); err == nil && os.SameFile(mine, other) {
		return errors.New("--failed names the file that is imported")
	}
	return nil
}

// failedName returns the name of the file for refused users, such as people.failed.json for
// people.json.gz.
func (f *importFile) failedName() string {
	kind := ".json"
	if f.lines {
		kind = ".ndjson"
	}
	name := strings.TrimSuffix(f.name, ".gz")
	for _, end := range []string{".json", ".ndjson", ".jsonl"} {
		name = strings.TrimSuffix(name, end)
	}
	return name + ".failed" + kind
}
