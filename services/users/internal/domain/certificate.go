package domain

import "time"

// CertificateKept is how long a certificate is known after a gateway has noted it last. Gateways note it every hour.
const CertificateKept = 3 * time.Hour

// Certificate is that of a gateway's port.
type Certificate struct {
	ID        string // its SHA-256 in hexadecimal digits
	Name      string // the host that it is for
	ExpiresAt time.Time
}
