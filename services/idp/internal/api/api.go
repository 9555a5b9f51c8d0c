// Package api answers the requests of the Idps service.
package api

import (
	"context"
	"log/slog"
	"time"

	"herald/services/idp/internal/directory"
	"herald/services/idp/internal/store"
	"herald/shared/caller"
	"herald/shared/secret"
)

// Idps implements the contract.
type Idps struct {
	Store store.Store
	// Keys seal client secrets.
	Keys      secret.Keys
	Directory *directory.Directory
	Log       *slog.Logger
	Now       func() time.Time
	// Callback is the redirect URI that directories send browsers back to.
	Callback string
	// MaxLimit is the largest page of a search.
	MaxLimit int64
}

// orgID is the organization that the request acts on.
func orgID(ctx context.Context) string { return caller.From(ctx).OrganizationID }
