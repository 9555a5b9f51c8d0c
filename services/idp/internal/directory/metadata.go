package directory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"

	"herald/services/idp/internal/domain"
	"herald/shared/gen/fault/idpfault"
)

const (
	// lifetime is how long metadata and keys are kept. If a token cannot be verified with the kept keys, they are read
	// again earlier, but only if refreshPause has passed since the last such reading.
	lifetime, refreshPause = time.Hour, 10 * time.Second
	// mostKeys is how many keys a tenant may have.
	mostKeys = 100
)

// metadata are the provider metadata of one tenant (OpenID Connect Discovery section 3).
type metadata struct {
	Issuer                string   `json:"issuer"`
	AuthorizationEndpoint string   `json:"authorization_endpoint"`
	TokenEndpoint         string   `json:"token_endpoint"`
	UserinfoEndpoint      string   `json:"userinfo_endpoint"`
	JWKSURI               string   `json:"jwks_uri"`
	AuthMethods           []string `json:"token_endpoint_auth_methods_supported"`

	// tenant is the tenant in the issuer, or {tenantid}.
	tenant string
	readAt time.Time
}

// onlyPost reports whether clients must send their secret in the body of the request. The default is HTTP Basic.
func (m metadata) onlyPost() bool {
	post := false
	for _, method := range m.AuthMethods {
		switch method {
		case "client_secret_basic":
			return false
		case "client_secret_post":
			post = true
		}
	}
	return post
}

// key is a public key of the directory.
type key struct {
	jose.JSONWebKey
	// issuer is the issuer whose tokens the key may sign. It may contain {tenantid}. If it is empty, the key may sign
	// the tokens of every issuer that the metadata allow.
	issuer string
}

// keys are the keys that the directory publishes at one address.
type keys struct {
	all    []key
	readAt time.Time
	// againAt is when they were last read because a token could not be verified with the kept keys.
	againAt time.Time
}

// published is what the directory has published: metadata by their address, and keys by theirs.
type published struct {
	metadata readings[metadata]
	keys     readings[keys]
}

// metadata returns the metadata of a tenant.
func (d *Directory) metadata(ctx context.Context, segment string) (metadata, error) {
	from := d.base + "/" + segment + "/v2.0/.well-known/openid-configuration"
	m, there := d.published.metadata.kept(from)
	if there && d.now().Sub(m.readAt) < lifetime {
		return m, nil
	}
	return d.published.metadata.read(ctx, from, d.now, func(ctx context.Context) (metadata, error) {
		var m metadata
		if err := d.get(ctx, from, &m); err != nil {
			return metadata{}, err
		}
		m.readAt, m.tenant = d.now(), domain.TenantOf(d.base, m.Issuer)
		if m.tenant == "" {
			return metadata{}, away("the metadata of %s have the issuer %.200q", segment, m.Issuer)
		}
		for _, address := range []string{
			m.AuthorizationEndpoint, m.TokenEndpoint, m.JWKSURI, cmp.Or(m.UserinfoEndpoint, m.TokenEndpoint),
		} {
			if !d.safe(address) {
				return metadata{}, away("the metadata of %s have the address %.200q", segment, address)
			}
		}
		return m, nil
	})
}

// safe reports whether an address may be used: it has TLS, or the directory may be without TLS because it is on this
// machine.
func (d *Directory) safe(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && (u.Scheme == "https" || d.plain && u.Scheme == "http")
}

// readKeys reads a tenant's keys unless they are kept.
func (d *Directory) readKeys(ctx context.Context, m metadata) error {
	_, err := d.keysAt(ctx, m.JWKSURI, func([]key) bool { return true })
	return err
}

// keysAt returns the keys at an address. If the kept keys are not enough it reads them again, because the directory may
// have replaced them. New keys may even have the ids of old ones.
func (d *Directory) keysAt(ctx context.Context, address string, enough func([]key) bool) ([]key, error) {
	kept, _ := d.published.keys.kept(address)
	now, againAt := d.now(), kept.againAt
	if now.Sub(kept.readAt) < lifetime {
		if enough(kept.all) || now.Sub(againAt) < refreshPause {
			return kept.all, nil
		}
		againAt = now
	}
	fresh, err := d.published.keys.read(ctx, address, d.now, func(ctx context.Context) (keys, error) {
		all, err := d.publishedKeys(ctx, address)
		return keys{all: all, readAt: now, againAt: againAt}, err
	})
	return fresh.all, err
}

// publishedKeys reads the keys at an address.
func (d *Directory) publishedKeys(ctx context.Context, address string) (all []key, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := d.get(ctx, address, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) > mostKeys {
		return nil, away("there are %d keys", len(set.Keys))
	}
	for _, raw := range set.Keys {
		var k struct {
			Issuer string `json:"issuer"`
		}
		var public jose.JSONWebKey
		// Keys of unknown kinds are ignored (RFC 7517 section 5).
		if json.Unmarshal(raw, &public) == nil && json.Unmarshal(raw, &k) == nil && public.IsPublic() {
			all = append(all, key{public, k.Issuer})
		}
	}
	return all, nil
}

// get reads a JSON document.
func (d *Directory) get(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return idpfault.ErrIdpAway.Because(err)
	}
	return d.read(r, into)
}

// read makes a request and reads the JSON document that answers it.
func (d *Directory) read(r *http.Request, into any) error {
	r.Header.Set("Accept", "application/json")
	answer, err := d.http.Do(r)
	if err != nil {
		return idpfault.ErrIdpAway.Because(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return idpfault.ErrIdpAway.Because(statusError{r.URL.Redacted(), answer.StatusCode})
	}
	text, err := io.ReadAll(answer.Body)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return idpfault.ErrIdpAway.Because(fmt.Errorf("%s: %w", r.URL.Redacted(), err))
	}
	return nil
}

func away(format string, args ...any) error {
	return idpfault.ErrIdpAway.Because(fmt.Errorf(format, args...))
}
