package local

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// oldest is the first major version with all features that Herald uses.
const oldest = 15

// binaries is the directory of a Postgres installation.
type binaries struct {
	dir   string
	major int
}

func (b binaries) initdb() string   { return filepath.Join(b.dir, "initdb") }
func (b binaries) postgres() string { return filepath.Join(b.dir, "postgres") }

// Version returns the major version of the server that Start would use for a new directory. bin has the same meaning
// as in Options.
func Version(ctx context.Context, bin string) (int, error) {
	a, err := chooseAccount("/")
	if err != nil {
		return 0, err
	}
	b, err := a.findBinaries(ctx, bin, 0)
	return b.major, err
}

// Check returns an error if Start would find no installed server for the files in o.Dir. It creates nothing.
func Check(ctx context.Context, o Options) error {
	a, err := chooseAccount(o.Dir)
	if err != nil {
		return err
	}
	_, err = a.findBinaries(ctx, o.Bin, writtenBy((&Server{dir: o.Dir}).data()))
	return err
}

// findBinaries returns the installation in dir. If dir is empty, it returns the installation in PATH, or else the
// newest one in the usual directories. major is the version that wrote the files, because no other version can read
// them. 0 means any version.
func (a account) findBinaries(ctx context.Context, dir string, major int) (binaries, error) {
	var refused []error
	for _, dir := range installations(dir) {
		b, err := a.inspect(ctx, dir)
		if err == nil && major != 0 && b.major != major {
			err = fmt.Errorf("%s has version %d, the data is of version %d", dir, b.major, major)
		}
		if err == nil {
			return b, nil
		}
		refused = append(refused, err)
	}
	if err := ctx.Err(); err != nil {
		return binaries{}, err
	}
	return binaries{}, missing(major, refused)
}

// installations returns the directories to try, the preferred first.
func installations(bin string) []string {
	if bin != "" {
		return []string{bin}
	}
	var usual []string
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin", // Debian, Ubuntu
		"/usr/pgsql-*/bin",          // packages of postgresql.org for Fedora and similar systems
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
	} {
		dirs, _ := filepath.Glob(pattern) // fails only for malformed patterns
		usual = append(usual, dirs...)
	}
	slices.SortStableFunc(usual, func(x, y string) int { return cmp.Compare(firstNumber(y), firstNumber(x)) })
	if path, err := exec.LookPath("postgres"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			usual = slices.Insert(usual, 0, filepath.Dir(path))
		}
	}
	return slices.DeleteFunc(usual, func(dir string) bool { return !complete(dir) })
}

var digits = regexp.MustCompile(`\d+`)

// firstNumber returns the major version in a path or in the output of postgres --version.
func firstNumber(text string) int {
	n, _ := strconv.Atoi(digits.FindString(text)) // 0 if there are no digits or too many
	return n
}

// complete reports whether the directory has the programs of the server, and not only those of a client.
func complete(dir string) bool {
	for _, name := range []string{"initdb", "postgres"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.IsDir() {
			return false
		}
	}
	return true
}

// inspect returns the version of an installation. It runs the program as the account, because the account may lack
// the permission.
func (a account) inspect(ctx context.Context, dir string) (binaries, error) {
	b := binaries{dir: dir}
	if !complete(dir) {
		return b, fmt.Errorf("%s lacks initdb or postgres", dir)
	}
	out, err := a.command(ctx, "/", b.postgres(), "--version").Output()
	if err != nil {
		return b, fmt.Errorf("user %s cannot run it: %w", a.name, err)
	}
	b.major = firstNumber(string(out))
	if b.major < oldest {
		return b, fmt.Errorf("%s has version %d, %d or later is needed", dir, b.major, oldest)
	}
	return b, nil
}

// writtenBy returns the major version that wrote the database files. It returns 0 if there are no files.
func writtenBy(data string) int {
	text, _ := os.ReadFile(filepath.Join(data, "PG_VERSION"))
	major, _ := strconv.Atoi(strings.TrimSpace(string(text)))
	return major
}

func missing(major int, refused []error) error {
	name := "postgresql"
	if major != 0 {
		name += "-" + strconv.Itoa(major)
	}
	install := "`apt-get install " + name + "` (Debian, Ubuntu) or `dnf install postgresql-server` (Fedora)"
	if runtime.GOOS == "darwin" {
		install = "`brew install postgresql@" + strconv.Itoa(max(major, 17)) + "`"
	}
	what := "Postgres is not installed"
	if len(refused) > 0 {
		what = "no installed Postgres fits: " + strings.ReplaceAll(errors.Join(refused...).Error(), "\n", "; ")
	}
	return fmt.Errorf("%s. Install it with %s, or point PG_BIN at the directory of initdb and postgres", what, install)
}
