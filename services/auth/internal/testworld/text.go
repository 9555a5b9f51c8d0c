package testworld

import (
	"context"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/proto"

	"herald/shared/boot"
	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/testkit"
)

// Text stands in for the service text.
type Text struct {
	mu       sync.Mutex
	Standard string
	Allowed  []string
}

// Supported are the languages that have texts.
var Supported = strings.Fields("bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

// ServeText stands in for the service text. It allows all languages.
func ServeText(t testing.TB, g boot.Ground) *Text {
	t.Helper()
	x := &Text{Standard: "en", Allowed: Supported}
	x.Serve(t, g)
	return x
}

// Serve answers the requests to the service text.
func (x *Text) Serve(t testing.TB, g boot.Ground) testkit.Server {
	t.Helper()
	return Serve(t, g, "text", x.answer, &textv1.Text_ServiceDesc)
}

// Choose sets the default and allowed languages.
func (x *Text) Choose(standard string, allowed ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Standard, x.Allowed = standard, allowed
}

func (x *Text) answer(_ context.Context, r proto.Message) (proto.Message, error) {
	if _, languages := r.(*textv1.ResolveLanguagesRequest); !languages {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return &textv1.ResolveLanguagesResponse{DefaultLanguage: x.Standard, AllowedLanguages: x.Allowed}, nil
}
