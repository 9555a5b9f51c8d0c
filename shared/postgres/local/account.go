package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// account is the user that the server runs as. Postgres refuses to run as root.
type account struct {
	name       string
	credential *syscall.Credential // nil: the user of this process
}

// chooseAccount returns the user of this process. If this is root, it returns the owner of dir or a user without
// rights.
func chooseAccount(dir string) (account, error) {
	if os.Geteuid() != 0 {
		return account{name: strconv.Itoa(os.Geteuid())}, nil
	}
	candidates := []func() (*user.User, error){
		func() (*user.User, error) { return owner(dir) },
		func() (*user.User, error) { return user.Lookup("postgres") },
		func() (*user.User, error) { return user.Lookup("nobody") },
	}
	for _, candidate := range candidates {
		if u, err := candidate(); err == nil && u.Uid != "0" {
			return newAccount(u)
		}
	}
	return account{}, errors.New("there is neither a user postgres nor nobody, and as root Postgres refuses to run: " +
		"`useradd --system postgres`")
}

// owner returns the owner of a path, which is the user of an earlier run. A server that earlier ran without root thus
// keeps its files.
func owner(path string) (*user.User, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	return user.LookupId(strconv.Itoa(int(info.Sys().(*syscall.Stat_t).Uid)))
}

func newAccount(u *user.User) (account, error) {
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("user %s: %w", u.Username, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return account{}, fmt.Errorf("group of user %s: %w", u.Username, err)
	}
	return account{u.Username, &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
}

// own makes the account the owner of a file and sets its mode. It takes an open file and not a path, because the
// account may have replaced the file by a link.
func (a account) own(f *os.File, mode fs.FileMode) error {
	if a.credential != nil {
		if err := f.Chown(int(a.credential.Uid), int(a.credential.Gid)); err != nil {
			return err
		}
	}
	return f.Chmod(mode)
}

// command returns a command that runs as the account in dir and is killed when the context ends. It does not pass on
// the environment, which may hold secrets, and PG* variables that change the behaviour of Postgres.
func (a account) command(ctx context.Context, dir, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: a.credential,
		// Only the parent process must get a Ctrl-C from the terminal. It then stops the server.
		Setpgid: true,
	}
	return cmd
}

// enter returns an error if the account cannot enter dir. The error names the first directory above it that is
// closed. It really tries to enter, because file modes do not show the effect of access lists and mounts.
func (a account) enter(ctx context.Context, b binaries, dir string) error {
	denied := func(dir string) bool {
		return errors.Is(a.command(ctx, dir, b.postgres(), "--version").Run(), fs.ErrPermission)
	}
	if !denied(dir) {
		return nil
	}
	closed := dir
	for up := filepath.Dir(closed); up != closed && denied(up); up = filepath.Dir(up) {
		closed = up
	}
	return fmt.Errorf("the server runs as user %s, who cannot enter %s: `chmod a+x %s`, or keep the data in another "+
		"place",
		a.name, closed, closed)
}
