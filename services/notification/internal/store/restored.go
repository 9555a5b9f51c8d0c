package store

import (
	"fmt"

	"herald/services/notification/internal/domain"
	"herald/shared/postgres"
)

// Restored gives up the mails that waited, because they may have been sent since the backup. Mails that earlier events
// ask for are given up too, see Queue.
var Restored = []postgres.Restored{
	{What: "mails not sent that may have been sent already", SQL: fmt.Sprintf(`with mark as (
			insert into restored values (now())
		), attempt as (
			update attempts set rendered = null where rendered is not null
		) update notifications set state = %d, due_at = null where due_at is not null`, domain.Uncertain)},
}
