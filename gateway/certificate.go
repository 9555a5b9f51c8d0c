package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/types/known/timestamppb"

	"herald/gateway/internal/edge"
	"herald/shared/boot"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/retry"
)

// certificate is that of the port.
type certificate interface {
	// Leaf returns the one that new connections get, or nil while there is none.
	Leaf(ctx context.Context) *x509.Certificate
}

// secure prepares TLS.
func (g *Gateway) secure(ground boot.Ground, c Config) error {
	switch {
	case c.files() && c.Directory != "":
		return errors.New("HERALD_ACME_DIRECTORY and the files of a certificate are set: leave out one of them")
	case c.files():
		files, err := edge.LoadCertificate(c.Certificate, c.Key, ground.Now, ground.Log)
		if err != nil {
			return err
		}
		g.tls, g.listener.TLS = files, files.Config()
	case c.Directory != "":
		issued, err := edge.NewIssued(c.ACME, ground.PublicURL, ground.Now, ground.Log)
		if err != nil {
			return err
		}
		g.issued, g.tls, g.listener.TLS = issued, issued, issued.Config()
		ground.Health.Check("certificate", issued.Ready)
	default:
		return nil
	}
	// Tests run two gateways in one process, of which the first has the metric.
	_ = ground.Metrics.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "herald_certificate_expiration_timestamp_seconds",
		Help: "When the certificate of the port expires.",
	}, func() float64 {
		if leaf := g.tls.Leaf(g.stopping); leaf != nil {
			return float64(leaf.NotAfter.Unix())
		}
		return 0
	}))
	return nil
}

const (
	// noteEvery is how often a certificate is noted again. The service users forgets it three hours after the last
	// time.
	noteEvery = time.Hour
	// noteLook is how often a gateway looks for another certificate.
	noteLook = 10 * time.Second
)

// noteCertificate notes the certificate of the port at the service users, and each one that takes its place, until ctx
// ends.
func (g *Gateway) noteCertificate(ctx context.Context) {
	var noted *x509.Certificate
	var again time.Time
	for more := true; more; more = retry.Wait(ctx, noteLook) {
		leaf := g.tls.Leaf(ctx)
		if leaf == nil || leaf.Equal(noted) && time.Now().Before(again) {
			continue
		}
		id := sha256.Sum256(leaf.Raw)
		_, err := g.users.NoteCertificate(ctx, &usersv1.NoteCertificateRequest{
			Id: hex.EncodeToString(id[:]), Name: hostOf(leaf), ExpirationDate: timestamppb.New(leaf.NotAfter),
		})
		if err == nil { // else the next look tries again; the connection logs that users is away
			noted, again = leaf, time.Now().Add(noteEvery)
		}
	}
}

// hostOf returns the first host that a certificate is for, cut to the length of a host.
func hostOf(leaf *x509.Certificate) string {
	hosts := slices.Clone(leaf.DNSNames)
	for _, address := range leaf.IPAddresses {
		hosts = append(hosts, address.String())
	}
	host := append(hosts, leaf.Subject.CommonName)[0]
	return host[:min(len(host), 253)]
}
