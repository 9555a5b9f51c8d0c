package store

import "herald/shared/postgres"

// Restored ends what may have been used or removed since the backup.
var Restored = []postgres.Restored{
	{What: "mailed codes ended", SQL: `update codes set expires_at = now()`},
	{What: "personal access tokens ended", Keys: true,
		SQL: `update personal_access_tokens set expires_at = now() where expires_at > now()`},
	{What: "keys of machine users ended", Keys: true,
		SQL: `update machine_keys set expires_at = now() where expires_at > now()`},
}
