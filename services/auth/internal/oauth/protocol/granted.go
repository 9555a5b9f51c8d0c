package protocol

import (
	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
)

// Granted returns the event for an authorization that a person gives an application.
func Granted(a domain.Authorization) *authv1.AuthorizationGranted {
	return &authv1.AuthorizationGranted{
		UserId: a.UserID, ClientId: a.ClientID, SessionId: a.SessionID, Scopes: a.Scopes,
	}
}
