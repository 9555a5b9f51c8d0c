package postgres

// Restored is a change in a database that was restored from a backup. The system went on after the backup, so its mails
// may have been sent, and its logins and keys may have been ended.
type Restored struct {
	// What the changed rows are, in the plural, such as "sessions ended".
	What string
	SQL  string
	// Keys is set for what programs have, such as personal access tokens. The operator can keep it.
	Keys bool
}
