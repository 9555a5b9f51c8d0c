package backup_test

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

var users = flag.Int("users", 20_000, "how many users are backed up")

// The figures are for a million users. Those of time hold on a machine without other work, so they are not checked with
// fewer users, beside other tests.
const (
	million                  = 1_000_000
	backupLimit, verifyLimit = time.Minute, 5 * time.Minute
	mostMemory               = 256 << 20 // in bytes
)

// fill makes users as an import does: with names, an address, a password's hash, which cannot be compressed, and an
// event.
const fill = `do $$ begin
	set local session_replication_role = replica;
	create temp table one on commit drop as select * from users limit 1;
	create temp table many on commit drop as select n, lpad(n::text, 18, '0') as id,
		'$argon2id$v=19$m=19456,t=2,p=1$' || encode(sha256(n::text::bytea), 'base64') as hash
		from generate_series(1, %d) n;
	execute (select 'insert into users (' || string_agg(quote_ident(attname), ',') || ') select ' || string_agg(case
		when attname = 'id' then '''9'' || many.id'
		when attname in ('user_name', 'user_name_folded') then '''user'' || n'
		when attname in ('email', 'email_folded') then '''user'' || n || ''@example.com'''
		when attname in ('first_name', 'first_name_folded') then '''ada'' || n %% 5000'
		when attname in ('last_name', 'last_name_folded') then '''lovelace'' || n %% 90000'
		when attname in ('display_name', 'display_name_folded') then '''ada lovelace '' || n'
		when attname = 'password_hash' then 'hash'
		else 'one.' || quote_ident(attname) end, ',') || ' from one, many'
		from pg_attribute where attrelid = 'users'::regclass and attnum > 0 and not attisdropped and attgenerated = '');
	insert into events (id, aggregate, aggregate_id, name, organization_id, actor, data, time, history_id)
		select gen_random_uuid()::text, 'user', '9' || many.id, 'created', org_id, 'x', '{"state": 1, "initMail": 1}',
			now() - interval '8 days', '9' || many.id from one, many;
end $$`

// A million users are backed up within a minute and verified within five, in 256 MiB: type -users 1000000.
func TestBackupOfManyUsers(t *testing.T) {
	t.Parallel()
	i := whole.Start(t)
	if _, err := database(t, i, "herald_users").Exec(t.Context(), fmt.Sprintf(fill, *users)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(i.Dir, "herald.backup")
	for _, c := range []struct {
		limit time.Duration
		args  []string
	}{
		{backupLimit, []string{"backup", file}}, {verifyLimit, []string{"backup", "verify", file}},
	} {
		var said bytes.Buffer
		herald := exec.Command(whole.Binary(t), c.args...)
		herald.Env, herald.Stdout, herald.Stderr = i.Env, &said, &said
		begin := time.Now()
		if err := herald.Start(); err != nil {
			t.Fatal(err)
		}
		memory := highestUntil(t, herald)
		if !herald.ProcessState.Success() {
			t.Fatalf("%q: %v %s", c.args, herald.ProcessState, said.String())
		}
		took := time.Since(begin)
		t.Logf("%q of %d users took %s and %d MiB: %s", c.args, *users, took, memory>>20, said.String())
		if *users >= million && took > c.limit || memory > mostMemory {
			t.Errorf("%q took %s and %d bytes, more than %s or %d bytes", c.args, took, memory, c.limit, mostMemory)
		}
	}
}

// highestUntil waits for the end of a process, and returns its peak memory in bytes, or 0 on systems without /proc. The
// kernel's own number, which is there after the end, is at least the memory of the process that started it.
func highestUntil(t *testing.T, c *exec.Cmd) (peak int) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait()
	}()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return peak
		case <-tick.C:
			peak = max(peak, whole.PeakMemory(c.Process.Pid))
		}
	}
}
