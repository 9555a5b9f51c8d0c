package store

// The statements that look for what is due.
const (
	Due     = due
	NextDue = nextDue
)
