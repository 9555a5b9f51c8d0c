package boot

import (
	"fmt"
	"time"
)

// AuditSettings say how far back the search of the events of all services goes. Services with rows for that search
// alone keep them as long.
type AuditSettings struct {
	AuditKeep time.Duration `env:"HERALD_AUDIT_KEEP" envDefault:"8760h"`
}

// Help implements Documented.
func (AuditSettings) Help() map[string]string {
	return map[string]string{
		"HERALD_AUDIT_KEEP": "how far back the search of events shows them, 24h to 87600h; older logins are deleted, " +
			"other events stay for the histories of objects",
	}
}

// CheckAudit returns an error if the setting is out of its bounds.
func (a AuditSettings) CheckAudit() error {
	const day = 24 * time.Hour
	if a.AuditKeep < day || a.AuditKeep > 3650*day {
		return fmt.Errorf("HERALD_AUDIT_KEEP is %v, and must be 24h to 87600h", a.AuditKeep)
	}
	return nil
}
