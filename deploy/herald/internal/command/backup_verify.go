package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"herald/deploy/herald/internal/backup"
	"herald/deploy/herald/internal/services"
	"herald/services/users"
	"herald/shared/boot"
	"herald/shared/secret"
)

// Serve runs everything with the settings of an environment until ctx ends. It writes a line "ready" and the address to
// out.
type Serve func(ctx context.Context, environ []string, out, logs io.Writer) error

// BackupVerify returns the command that verifies a backup on a system of its own.
func BackupVerify(start StartServers, serve Serve) *cobra.Command {
	var passphrase string
	c := &cobra.Command{
		Use:     "verify FILE",
		Short:   "Restore a backup into a throw-away copy, compare all tables, and log in there",
		Example: "  herald backup verify herald.backup",
		Long: `Restore a backup into a throw-away copy on this machine, compare all tables, and log in there.

The copy is in a new folder of the folder for temporary files (TMPDIR), with a Postgres of its own. It sends nothing to
anybody, and is removed at the end. Exits with 0 if the backup is good, or says what differs.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			own, err := load()
			if err != nil {
				return err
			}
			r, in, err := openBackup(c, args[0])
			if err != nil {
				return err
			}
			defer in.Close()
			keys, err := own.keysFor(r.Header, passphrase)
			if err != nil {
				return err
			}
			dir, err := os.MkdirTemp("", "herald-verify-")
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
			v := verification{start: start, system: serve, out: c.OutOrStdout(), logs: c.ErrOrStderr(), dir: dir}
			return v.run(c.Context(), r, keys)
		},
	}
	c.Flags().StringVar(&passphrase, "passphrase-file", "", passphraseHelp)
	return c
}

// verification is a throw-away copy of a backup.
type verification struct {
	start     StartServers
	system    Serve
	out, logs io.Writer
	dir       string
	canary    users.Administrator
}

func (v *verification) run(ctx context.Context, r *backup.Reader, keys secret.Keys) error {
	if err := os.Chmod(v.dir, 0o711); err != nil { // Postgres may run as another user
		return err
	}
	if err := secret.ReplaceFile(filepath.Join(v.dir, "master.key"), keys.Text().Reveal(), 0o600); err != nil {
		return err
	}
	begin := time.Now()
	report, err := v.restore(ctx, r, keys)
	if err != nil {
		return err
	}
	fmt.Fprintf(v.out, "%d rows of %d tables are those of the backup of %s (%s)\n", report.End.Rows(),
		len(report.End.Tables), r.Header.Taken.Format(time.RFC3339), time.Since(begin).Round(time.Millisecond))
	begin = time.Now()
	if err := v.serve(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintf(v.out, "a canary has logged in (%s)\nthe backup is good\n",
		time.Since(begin).Round(time.Millisecond))
	return err
}

// restore fills the copy, compares it with the backup, and makes the user who will log in.
func (v *verification) restore(ctx context.Context, r *backup.Reader, keys secret.Keys) (
	report backup.Report, err error,
) {
	servers, err := v.start(ctx, services.RunConfig{DataDir: v.dir}, boot.Trust{}, keys)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, servers.Stop()) }()
	report, err = fill(ctx, servers, keys, r, backup.Options{Compare: true})
	if err != nil {
		return report, err
	}
	db, err := openRestored(ctx, servers.Database, keys, "users")
	if err != nil {
		return report, err
	}
	defer db.Close()
	v.canary, err = users.AnotherAdministrator(ctx, db, time.Now, "localhost")
	return report, err
}

// serve runs the copy until the canary has logged in.
func (v *verification) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	port := listener.Addr().String()
	if err := listener.Close(); err != nil {
		return err
	}
	environ := []string{"HERALD_DATA_DIR=" + v.dir, "HERALD_LISTEN=" + port, "HERALD_INBOX_LISTEN=127.0.0.1:0",
		"HERALD_NATS_LISTEN=", "HERALD_LOG_LEVEL=ERROR"}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	printed, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := v.system(ctx, environ, out, v.logs)
		ended <- errors.Join(err, out.Close())
	}()
	lines := bufio.NewScanner(printed)
	for lines.Scan() {
		if address, ready := strings.CutPrefix(lines.Text(), "ready "); ready {
			err = canaryLogsIn(ctx, address, v.canary)
			cancel()
			break
		}
	}
	_ = printed.Close()
	if failed := <-ended; !errors.Is(failed, context.Canceled) {
		err = errors.Join(err, failed)
	}
	return err
}

// canaryLimit is how long a login may take.
const canaryLimit = 30 * time.Second

// canaryLogsIn logs in a new administrator at the login pages, with the one-time password and another one after it.
func canaryLogsIn(ctx context.Context, address string, as users.Administrator) error {
	ctx, cancel := context.WithTimeout(ctx, canaryLimit)
	defer cancel()
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	browser := &http.Client{Jar: jar}
	next := secret.RandomString(20) + "aA1"
	for _, step := range []struct {
		path string
		form url.Values
		want string // what the page that answers contains
	}{
		{"/ui/login/", nil, "/ui/login/password"},
		{"/ui/login/password", url.Values{"name": {as.LoginName}, "current": {as.Password.Reveal()}}, "/ui/login/next"},
		{"/ui/login/next", url.Values{"password": {next}, "confirmation": {next}}, "/ui/login/logout"},
	} {
		method, body := http.MethodGet, io.Reader(nil)
		if step.form != nil {
			method, body = http.MethodPost, strings.NewReader(step.form.Encode())
		}
		r, err := http.NewRequestWithContext(ctx, method, address+step.path, body)
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", address)
		answer, err := browser.Do(r)
		if err != nil {
			return fmt.Errorf("the login in the copy: %w", err)
		}
		page, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
		answer.Body.Close()
		if err != nil || !strings.Contains(string(page), `action="`+step.want+`"`) {
			return fmt.Errorf("the login in the copy ends at %s with %s: %w", step.path, answer.Status, err)
		}
	}
	return nil
}
