package internals

import (
	"context"

	"herald/services/users/internal/domain"
	usersv1 "herald/shared/gen/herald/users/v1"
)

// NoteCertificate notes the certificate of a gateway's port.
func (s Server) NoteCertificate(
	ctx context.Context, r *usersv1.NoteCertificateRequest,
) (*usersv1.NoteCertificateResponse, error) {
	err := s.Store.NoteCertificate(ctx, domain.Certificate{
		ID: r.Id, Name: r.Name, ExpiresAt: r.ExpirationDate.AsTime(),
	}, s.Now())
	return &usersv1.NoteCertificateResponse{}, err
}
