package protocol_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
	authv1 "herald/shared/gen/herald/auth/v1"
)

func TestEventHasWhatPersonGave(t *testing.T) {
	t.Parallel()
	got := protocol.Granted(domain.Authorization{
		ID: "a1", UserID: "u1", ClientID: "web", SessionID: "s1", Scopes: []string{"openid", "email"},
	})
	want := &authv1.AuthorizationGranted{
		UserId: "u1", ClientId: "web", SessionId: "s1", Scopes: []string{"openid", "email"},
	}
	if !proto.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
