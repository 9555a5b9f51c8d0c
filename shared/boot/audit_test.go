package boot_test

import (
	"testing"
	"time"

	"herald/shared/boot"
)

func TestCheckAudit(t *testing.T) {
	t.Parallel()
	for keep, valid := range map[time.Duration]bool{
		0: false, 24*time.Hour - 1: false, 24 * time.Hour: true, 87600 * time.Hour: true, 87600*time.Hour + 1: false,
	} {
		if err := (boot.AuditSettings{AuditKeep: keep}).CheckAudit(); (err == nil) != valid {
			t.Errorf("%v: %v", keep, err)
		}
	}
}
