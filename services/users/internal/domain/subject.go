package domain

// Subject is a user for whom tokens are issued, with what the tokens depend on.
type Subject struct {
	User
	// Orgs are the user's organization and the other requested ones.
	Orgs []Org
	// Credential identifies the secret or the key of the proof. It is empty if the user does not have it.
	Credential string
	// PublicKey is the requested key, as SubjectPublicKeyInfo in DER. It is nil if the user has no such key that is
	// valid now.
	PublicKey []byte
	// Manages reports whether the user has an active membership.
	Manages bool
}

// Proof is what a request names as the credential of a user: a secret, a key, or the credential of an earlier proof. At
// most one field is set.
type Proof struct {
	SecretHash []byte
	KeyID      string
	// Credential is Subject.Credential of an earlier proof.
	Credential string
}

// CheckedSubject is a user as it was when tokens were issued. OrgGenerations[i] was the generation of OrgIDs[i].
type CheckedSubject struct {
	UserID         string
	Generation     int64
	Credential     string
	OrgIDs         []string
	OrgGenerations []int64
	// NoManager reports whether the user must have no active membership.
	NoManager bool
}
