package api

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"herald/services/auth/internal/domain"
	authv1 "herald/shared/gen/herald/auth/v1"
	"herald/shared/resource"
)

// ofInstance is the resource owner in details: the settings belong to no organization.
const ofInstance = ""

const day = 24 * time.Hour

// GetSettings reads how long tokens are valid and keys sign, and where that comes from.
func (s Server) GetSettings(ctx context.Context, _ *authv1.GetSettingsRequest) (*authv1.GetSettingsResponse, error) {
	set, err := s.Store.Settings(ctx)
	if err != nil {
		return nil, err
	}
	live := set.Live(s.Environment)
	answer := &authv1.Settings{
		Details:                    resource.Details(live.Record, ofInstance),
		AccessTokenLifetime:        durationpb.New(live.Access),
		RefreshTokenIdleExpiration: durationpb.New(live.RefreshIdle),
		RefreshTokenExpiration:     durationpb.New(live.Refresh),
		SigningKeyDays:             int32(live.KeyPeriod / day),
	}
	for _, o := range live.Origins {
		answer.Origins = append(answer.Origins, o.Message())
	}
	return &authv1.GetSettingsResponse{InstanceSettings: answer}, nil
}

// SetSettings replaces how long tokens are valid and keys sign. The event tells all replicas, also this one.
func (s Server) SetSettings(ctx context.Context, r *authv1.SetSettingsRequest) (*authv1.SetSettingsResponse, error) {
	to := domain.Settings{
		Lifetimes: domain.Lifetimes{
			Access: r.AccessTokenLifetime.AsDuration(), RefreshIdle: r.RefreshTokenIdleExpiration.AsDuration(),
			Refresh: r.RefreshTokenExpiration.AsDuration(),
		},
		KeyPeriod: time.Duration(r.SigningKeyDays) * day,
	}
	set, err := s.Store.ChangeSettings(ctx, func(c *domain.Settings) (proto.Message, error) {
		changed, err := c.Replace(to, s.Environment)
		if err != nil || len(changed) == 0 {
			return nil, err
		}
		return &authv1.SettingsChanged{Changed: changed}, nil
	})
	if err != nil {
		return nil, err
	}
	return &authv1.SetSettingsResponse{Details: resource.Changed(set.Record, ofInstance)}, nil
}
