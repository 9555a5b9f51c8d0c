package testworld

import (
	"context"
	"strings"
	"sync"

	textv1 "herald/shared/gen/herald/text/v1"
)

// Text stands in for the service text.
type Text struct {
	textv1.UnimplementedTextServer
	mu       sync.Mutex
	Standard string
	Allowed  []string
}

// Supported are the languages that have texts.
var Supported = strings.Fields("bg cs de en es fr hu id it ja ko mk nl pl pt ro ru sv tr uk zh")

// NewText returns a stand-in that allows all languages.
func NewText() *Text { return &Text{Standard: "en", Allowed: Supported} }

// Choose sets the default and allowed languages.
func (x *Text) Choose(standard string, allowed ...string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.Standard, x.Allowed = standard, allowed
}

// ResolveLanguages implements the contract of the service.
func (x *Text) ResolveLanguages(
	context.Context, *textv1.ResolveLanguagesRequest,
) (*textv1.ResolveLanguagesResponse, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &textv1.ResolveLanguagesResponse{DefaultLanguage: x.Standard, AllowedLanguages: x.Allowed}, nil
}
