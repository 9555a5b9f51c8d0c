// Package domain has the rules of logins: what a client may ask for, when a login is enough, what tokens contain and
// how long they are valid, and when keys sign. It uses no database, no messages and no clock.
package domain
