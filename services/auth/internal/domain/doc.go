// Package domain has the rules of logins: what a client may ask for, when a login is enough, what tokens contain and
// how long they are valid, when keys sign, and how often a client may try. It uses no database and no messages. Its
// callers give it the time.
package domain
