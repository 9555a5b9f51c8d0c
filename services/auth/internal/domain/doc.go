// Package domain has the rules of logins: what a client may ask for, when a login is enough, what tokens say and how
// long
// they count, and when keys sign. It uses no database, no messages and no clock.
package domain
