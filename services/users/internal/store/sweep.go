package store

import (
	"context"
	"errors"
	"time"

	"herald/services/users/internal/domain"
	"herald/shared/postgres"
)

// Sweep deletes guesses that refuse no further ones, notices after domain.NoticeKept, counts of mails after a day, the
// ids of ended authorizations after domain.EndKept, certificates after domain.CertificateKept, and refused logins after
// keep. A right password leaves a count of none.
func (s Store) Sweep(ctx context.Context, now time.Time, keep time.Duration) error {
	tries := triesArgs(now)
	delete(tries, "pauses")
	forget := func(sql string, args postgres.Args) error {
		_, err := s.journal.DB.Exec(ctx, sql, args)
		return postgres.Fault(err)
	}
	return errors.Join(
		forget(`delete from password_tries t where `+triesForgotten, tries),
		forget(`delete from notices where time < @old`, postgres.Args{"old": now.Add(-domain.NoticeKept)}),
		forget(`delete from ended_authorizations where ended_at < @old`,
			postgres.Args{"old": now.Add(-domain.EndKept)}),
		forget(`delete from certificates where noted_at < @old`,
			postgres.Args{"old": now.Add(-domain.CertificateKept)}),
		forget(`delete from mail_counts where times[1] < @old`, postgres.Args{"old": now.Add(-24 * time.Hour)}),
		forget(`delete from refused_logins where time < @old or refused = 0 and time < @quarter`,
			postgres.Args{"old": now.Add(-keep), "quarter": now.Add(-domain.RefusalsTogether)}),
	)
}
