package store_test

import (
	"context"
	"testing"
	"time"

	"herald/shared/testkit"
)

func TestSweepsWhatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.make("org-a", "company")
	now := time.Now()
	for range 2 { // the first one has its event at once
		if err := w.NoteRefusedLogin(t.Context(), "org-a", "company", "WHY", now, report); err != nil {
			t.Fatal(err)
		}
	}
	testkit.Swept(t, w.db, map[string]string{"idps": "goes when it is removed"}, func(ctx context.Context) error {
		return w.ReportRefusedLogins(ctx, now.Add(time.Hour), report)
	})
}
