package local

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestServerIsDurableAndFrugal(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t)})
	for name, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "jit": "off",
		"server_encoding": "UTF8", "listen_addresses": "127.0.0.1", "shared_buffers": "64MB",
	} {
		t.Run(name, func(t *testing.T) {
			if got := query(t, s.URL(), "select current_setting('"+name+"')"); got != want {
				t.Errorf("%s is %s, want %s", name, got, want)
			}
		})
	}
}

func TestOnlyThePasswordOpens(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t), Volatile: true})
	for _, url := range []string{s.URL(), s.TCP()} {
		if got := query(t, url, "select current_user::text"); got != superuser {
			t.Errorf("%s logs in as %s", url, got)
		}
		for _, password := range []string{"wrong", ""} {
			wrong := strings.Replace(url, s.password, password, 1)
			_, err := pgconn.Connect(t.Context(), wrong)
			if refusal, ok := errors.AsType[*pgconn.PgError](err); !ok && password != "" ||
				ok && refusal.Code != "28P01" {
				t.Errorf("password %q: %v", password, err)
			}
		}
	}
	for path, want := range map[string]fs.FileMode{"": 0o700, "password": 0o600, "data": 0o700, "log": 0o600} {
		info, err := os.Stat(filepath.Join(s.dir, path))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q is %o, want %o", path, got, want)
		}
	}
}

func TestDataOutlivesAStop(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := start(t, Options{Dir: dir})
	execute(t, s.URL(), "create table kept as select 'a row' as value")
	stop(t, s)
	s = start(t, Options{Dir: dir})
	if got := query(t, s.URL(), "select value from kept"); got != "a row" {
		t.Errorf("read %q", got)
	}
}

func TestSideBySide(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	for range 4 {
		dir := place(t)
		all.Go(func() {
			s, err := Start(t.Context(), Options{Dir: dir, Bin: os.Getenv("PG_BIN"), Volatile: true})
			if err != nil {
				t.Error(err)
				return
			}
			defer s.Stop(context.Background())
			if got := query(t, s.TCP(), "select current_setting('data_directory')"); got != filepath.Join(dir, "data") {
				t.Errorf("the server in %s has its data in %s", dir, got)
			}
		})
	}
	all.Wait()
}

func TestDirectoryIsForOne(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Dir: place(t), Volatile: true})
	_, err := Start(t.Context(), Options{Dir: s.dir, Bin: os.Getenv("PG_BIN")})
	mention(t, err, s.dir, "another process is using the directory")
	query(t, s.URL(), "select 'unharmed'")
}

func TestPortTakenBeforeTheStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	asked := 0
	s := &Server{dir: place(t)}
	err = s.start(t.Context(), Options{Bin: os.Getenv("PG_BIN"), Volatile: true}, func() (int, error) {
		if asked++; asked == 1 {
			return taken.Addr().(*net.TCPAddr).Port, nil
		}
		return freePort()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop(context.Background())
	if query(t, s.TCP(), "select 'reached'"); asked != 2 {
		t.Errorf("took %d ports", asked)
	}
}

func TestAwkwardPaths(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{
		"long": strings.Repeat("long/", 30), "spaced": "two words + more%20/日本", "listed": `a,b"c`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{Dir: filepath.Join(place(t), path), Volatile: true})
			query(t, s.URL(), "select 'reached'")
			sockets := s.sockets
			stop(t, s)
			if _, err := os.Stat(sockets); sockets != s.dir && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s is left behind", sockets)
			}
		})
	}
}

func TestStopWithAPassedDeadline(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := start(t, Options{Dir: dir})
	execute(t, s.URL(), "create table kept as select 'a row' as value")
	late, cancel := context.WithCancel(t.Context())
	cancel()
	// Stop may notice the end or the deadline first. In both cases the server has ended and no data is lost.
	if err := s.Stop(late); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	s = start(t, Options{Dir: dir})
	if got := query(t, s.URL(), "select value from kept"); got != "a row" {
		t.Errorf("read %q", got)
	}
}

func BenchmarkColdStart(b *testing.B) {
	for b.Loop() {
		stop(b, start(b, Options{Dir: place(b)}))
	}
}

func BenchmarkWarmStart(b *testing.B) {
	dir := place(b)
	stop(b, start(b, Options{Dir: dir}))
	for b.Loop() {
		s := start(b, Options{Dir: dir})
		b.StopTimer()
		stop(b, s)
		b.StartTimer()
	}
}
