package domain

// Subject is a user for whom tokens are issued, with what they depend on.
type Subject struct {
	User
	// Orgs are the user's organization and others that were asked for.
	Orgs []Org
	// Credential stands for the secret or the key that was asked for, "" if the user has none such.
	Credential string
	// PublicKey is the key that was asked for, as SubjectPublicKeyInfo in DER; nil if the user has no such key that is
	// valid now.
	PublicKey []byte
}

// Proof is with what somebody says that a user authenticates or has authenticated: at most one of these is set.
type Proof struct {
	SecretHash []byte
	KeyID      string
	// Credential is Subject.Credential of an earlier proof.
	Credential string
}

// CheckedSubject is a user as it was when tokens were issued. OrgIDs[i] was of OrgGenerations[i].
type CheckedSubject struct {
	UserID         string
	Generation     int64
	Credential     string
	OrgIDs         []string
	OrgGenerations []int64
}
