package store

import "herald/shared/postgres"

// Restored ends what may have been removed since the backup.
var Restored = []postgres.Restored{
	{What: "former client secrets ended",
		SQL: `update applications set former_secret_hash = null, former_secret_until = null
			where former_secret_hash is not null`},
	{What: "keys of applications ended", Keys: true,
		SQL: `update application_keys set expires_at = now() where expires_at > now()`},
}
