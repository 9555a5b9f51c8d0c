package frame

import (
	"context"
	"net/http"
	"time"

	"herald/shared/fault"
	textv1 "herald/shared/gen/herald/text/v1"
)

const (
	logoPath = "/ui/logo/{org}/{hash}"
	// logoTimeout is how long a browser waits for a logo.
	logoTimeout = 5 * time.Second
	// Limits in bytes of the parts of a path. Longer parts do not exist.
	maxOrgID, maxHash = 200, 64
)

// Mount adds the path of logos.
func (f *Frame) Mount(mux *http.ServeMux) { mux.HandleFunc("GET "+logoPath, f.logo) }

// logo writes an organization's logo. The path of a logo contains its hash, so browsers may cache it for ever. The
// headers prevent a logo that is opened by itself from running scripts, even if a browser takes it for a document.
func (f *Frame) logo(w http.ResponseWriter, r *http.Request) {
	orgID, hash := r.PathValue("org"), r.PathValue("hash")
	if len(orgID) > maxOrgID || len(hash) > maxHash {
		f.Notice(w, r, http.StatusNotFound, "unknown", "")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), logoTimeout)
	defer cancel()
	found, err := f.brandings.text.ResolveLogo(ctx, &textv1.ResolveLogoRequest{OrgId: orgID, Hash: hash})
	switch {
	case fault.From(err).Code == fault.NotFound:
		f.Notice(w, r, http.StatusNotFound, "unknown", "")
		return
	case err != nil:
		f.Failed(w, r, err, Retry{})
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.MediaType)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	_, _ = w.Write(found.Logo)
}
