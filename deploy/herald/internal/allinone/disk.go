package allinone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"herald/shared/boot"
	"herald/shared/postgres"
	"herald/shared/retry"
	"herald/shared/secret"
)

const (
	// least is how many bytes must be free for changes. Postgres crashes if it cannot write what it has begun, and does
	// not start again without room. Until it refuses changes, it writes less than this.
	least = 64 << 20
	// enough is how many bytes must be free until changes are allowed again.
	enough = least + least/2
	// first is how many bytes the first start needs, which makes the databases.
	first = 256 << 20
	// glance is how often the disk is looked at.
	glance = 50 * time.Millisecond
)

// disk is the disk of the data directory. While it is almost full, a local Postgres refuses changes, so that it and
// NATS go on and reads are answered.
type disk struct {
	dir           string
	log           *slog.Logger
	full, refuses atomic.Bool // whether it is almost full, and whether the database server refuses changes
}

// check returns an error if the disk is too full to start.
func (d *disk) check(need int64) error {
	free, err := boot.Room(d.dir)
	if err == nil && free < need {
		err = fmt.Errorf("HERALD_DATA_DIR: the disk of %s is full: it has %d MiB left, and Herald needs %d: make room "+
			"on it, or move the directory to another disk, and start again", d.dir, free>>20, need>>20)
	}
	return err
}

// metric returns a metric of the free bytes. It has no number while the disk cannot be asked.
func (d *disk) metric() prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "herald_disk_free_bytes", Help: "Free bytes on the disk of HERALD_DATA_DIR.",
	}, func() float64 {
		free, err := boot.Room(d.dir)
		if err != nil {
			return math.NaN()
		}
		return float64(free)
	})
}

// explain returns the error of check instead of one that says only that there is no space.
func (d *disk) explain(err error, need int64) error {
	if !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return cmp.Or(d.check(need), err) // a disk without inodes has room
}

// err is the check of readiness.
func (d *disk) err(context.Context) error {
	if !d.full.Load() {
		return nil
	}
	err := fmt.Errorf("the disk of %s has less than %d MiB left", d.dir, enough>>20)
	if d.refuses.Load() {
		err = fmt.Errorf("changes are refused: %w", err)
	}
	return err
}

// wait waits until the disk is not full, or ctx has ended.
func (d *disk) wait(ctx context.Context) {
	for d.full.Load() && retry.Wait(ctx, glance) {
	}
}

// watch makes the database server refuse changes while the disk is almost full. admin is empty if the server is
// elsewhere, and then the log only says that the disk is almost full.
func (d *disk) watch(ctx context.Context, admin secret.Text) {
	var refuse func(context.Context, bool) error
	if !admin.Empty() {
		refuse = func(ctx context.Context, full bool) error { return postgres.RefuseChanges(ctx, admin, full) }
	}
	looked := d.watcher(refuse)
	for retry.Wait(ctx, glance) {
		if free, err := boot.Room(d.dir); err == nil {
			looked(ctx, free)
		}
	}
}

// watcher returns what is called with the free bytes of the disk. refuse makes the database server refuse or allow
// changes, and is nil if the server is elsewhere.
func (d *disk) watcher(refuse func(context.Context, bool) error) func(ctx context.Context, free int64) {
	almost := &retry.Outage{
		Log: d.log, Begins: "the disk is almost full: make room on it", Ends: "the disk has room again",
	}
	refusing := &retry.Outage{
		Log: d.log, Begins: "changes are refused until the disk has room: make room on it",
		Ends: "changes are allowed again",
	}
	failing := &retry.Outage{
		Log: d.log, Begins: "the database server does not refuse or allow changes as the disk needs it",
		Ends: "the database server refuses or allows changes as the disk needs it",
	}
	return func(ctx context.Context, free int64) {
		full := free < least || d.full.Load() && free < enough
		d.full.Store(full)
		left := fmt.Errorf("the disk of %s has %d MiB left", d.dir, free>>20)
		if refuse == nil {
			report(almost, full, left)
			return
		}
		if full != d.refuses.Load() {
			if err := refuse(ctx, full); err != nil {
				failing.Failed(errors.Join(left, err))
				return
			}
			d.refuses.Store(full)
		}
		failing.Worked()
		report(refusing, full, left)
	}
}

func report(o *retry.Outage, fails bool, err error) {
	if fails {
		o.Failed(err)
	} else {
		o.Worked()
	}
}
