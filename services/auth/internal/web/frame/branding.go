package frame

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"sync"

	textv1 "herald/shared/gen/herald/text/v1"
	"herald/shared/mailer"
)

// maxBrandings is how many organizations' brandings are kept. When there are more, all are removed.
const maxBrandings = 1000

// branding is how an organization's pages look; empty for Herald's own branding.
type branding struct {
	// Style comes after the style of all pages; empty for no color.
	Style template.CSS
	// Logo is the path of the logo; empty for none.
	Logo string
	// Support is the e-mail address at which people get help; empty for none.
	Support string
}

// lightGrounds and darkGrounds are the colors of style.css on which links are written.
var (
	lightGrounds = []mailer.Color{{0xff, 0xff, 0xff}, {0xf2, 0xf3, 0xf6}}
	darkGrounds  = []mailer.Color{{0x22, 0x25, 0x2d}, {0x15, 0x17, 0x1c}}
)

// brandedStyle replaces the accents of style.css: the color of buttons with the text on it, and those of links, which
// are readable on light and on dark pages. A button under the mouse keeps its color, because a lighter color might not
// be readable.
const brandedStyle = `:root{--fill:%s;--on-accent:%s;--accent:%s}` +
	`@media(prefers-color-scheme:dark){:root{--accent:%s}}` +
	`.button:hover{filter:none;text-decoration:underline}`

func brandingOf(r *textv1.ResolveBrandingResponse) branding {
	b := branding{Logo: r.LogoPath, Support: r.SupportEmail}
	if c, ok := mailer.ParseColor(r.PrimaryColor); ok {
		b.Style = template.CSS(fmt.Sprintf(brandedStyle, c, c.OnTop(), c.On(lightGrounds, mailer.Black),
			c.On(darkGrounds, mailer.White)))
	}
	return b
}

// sourceOf returns the hash source that allows a style or script in the Content Security Policy of a page.
func sourceOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// ofOrg is the context key of the organization whose branding the page has.
type ofOrg struct{}

// Branded returns a request whose pages have the branding of an organization, or Herald's own branding for an empty id.
func Branded(r *http.Request, orgID string) *http.Request {
	return r.WithContext(context.WithValue(r.Context(), ofOrg{}, orgID))
}

// branding returns the branding of the page for a request, and allows its style in the policy of the page. It is called
// before the page is written.
func (f *Frame) branding(w http.ResponseWriter, r *http.Request) branding {
	orgID, _ := r.Context().Value(ofOrg{}).(string)
	if orgID == "" {
		return branding{}
	}
	b := f.brandings.of(r.Context(), orgID)
	if b.Style != "" {
		f.allow(w, "style-src ", "style-src "+sourceOf(string(b.Style))+" ")
	}
	return b
}

// brandings are the brandings that text returns. Before its first answer pages have Herald's own branding.
type brandings struct {
	source
	mu   sync.Mutex
	kept map[string]*cached[branding]
}

func (b *brandings) of(ctx context.Context, orgID string) branding {
	return b.entry(orgID).get(ctx, b.source, func(ctx context.Context) (branding, error) {
		r, err := b.text.ResolveBranding(ctx, &textv1.ResolveBrandingRequest{OrgId: orgID})
		if err != nil {
			return branding{}, err
		}
		return brandingOf(r), nil
	})
}

func (b *brandings) entry(orgID string) *cached[branding] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept == nil || len(b.kept) >= maxBrandings && b.kept[orgID] == nil {
		b.kept = map[string]*cached[branding]{}
	}
	if b.kept[orgID] == nil {
		b.kept[orgID] = &cached[branding]{}
	}
	return b.kept[orgID]
}
