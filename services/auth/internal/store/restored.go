package store

import "herald/shared/postgres"

// Restored ends all logins, because they may have been ended since the backup. Applications are not informed: those
// that ask are answered that their tokens have ended.
var Restored = []postgres.Restored{
	{What: "sessions ended", SQL: `delete from sessions`},
	{What: "logins of applications ended, with their tokens", SQL: `delete from authorizations`},
	{What: "unfinished logins ended", SQL: `with devices as (delete from devices),
		requests as (delete from auth_requests), external as (delete from external_logins) delete from logins`},
	{What: "notices of logouts left out", SQL: `delete from logouts`},
}
