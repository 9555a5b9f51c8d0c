package domain

import (
	"strings"

	"herald/shared/secret"
)

// MailCount is a keyed hash by which mails are counted. It is kept after the user is removed, and identifies nobody.
type MailCount []byte

// CodeCounts returns the counts of a mail with a code: those of its user, and of the address in the organization.
func (l Lasting) CodeCounts(orgID, userID, address string) []MailCount {
	return []MailCount{l.mailCount("code", userID), l.mailCount("address", orgID, strings.ToLower(address))}
}

// NoticeCounts returns the counts of a notice that is counted. Mails to the address are not counted. Otherwise somebody
// could use up the mails to an address and so keep its owner from changing a password.
func (l Lasting) NoticeCounts(userID string) []MailCount {
	return []MailCount{l.mailCount("notice", userID)}
}

func (l Lasting) mailCount(parts ...string) MailCount {
	return secret.MAC(l.derive("mail count"), parts...)
}
