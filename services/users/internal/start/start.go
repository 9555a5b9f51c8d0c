// Package start makes the first objects of a new instance: an organization, a human administrator
// with a one-time password, and a personal access token in a file. If it is killed, the next start
// finishes its work. Later starts change nothing.
package start

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"herald/services/users/internal/domain"
	"herald/services/users/internal/password"
	"herald/services/users/internal/store"
	"herald/shared/gen/fault/usersfault"
	usersv1 "herald/shared/gen/herald/users/v1"
	"herald/shared/resource"
	"herald/shared/secret"
)

// Settings say what to make.
type Settings struct {
	// Host is the host of the public URL.
	Host string
	// TokenFile is the file for the administrator's token. It is empty for no file.
	TokenFile string
}

// Administrator is printed for the operator at the first start. It is empty at later ones.
type Administrator struct {
	LoginName string
	Password  secret.Text
}

const (
	orgName  = "Herald"
	userName = "admin"
)

// Run makes the missing objects. It returns the administrator that it has made also together with an error.
func Run(ctx context.Context, s store.Store, passwords *password.Hasher, settings Settings) (Administrator, error) {
	started, err := s.Started(ctx)
	if err != nil {
		return Administrator{}, err
	}
	if started {
		return Administrator{}, finish(ctx, s, settings.TokenFile)
	}
	oneTime, token := secret.NewText(secret.RandomString(16)), secret.PersonalAccessToken.New()
	hash, err := passwords.Hash(ctx, oneTime.Reveal())
	if err != nil {
		return Administrator{}, fmt.Errorf("first start: %w", err)
	}
	if settings.TokenFile != "" { // before the account is written
		if err := secret.ReplaceFile(unfinished(settings.TokenFile), token.Reveal()+"\n", 0o600); err != nil {
			return Administrator{}, fmt.Errorf("administrator's token: %w", err)
		}
	}
	instance, events := describe(settings.Host, orgName, userName, hash.Encoded())
	pat := domain.PAT{
		ID: resource.NewID(), UserID: instance.Administrator.ID, OrgID: instance.Org.ID, Scopes: domain.PATScopes(),
		ExpiresAt: secret.NoExpiry,
	}
	instance.PAT, instance.PATHash = pat, secret.Hash(token.Reveal())
	events.PAT = &usersv1.PersonalAccessTokenAdded{UserId: pat.UserID}
	if err := s.CreateInstance(ctx, instance, events); errors.Is(err, usersfault.ErrInstanceExists) {
		return Administrator{}, finish(ctx, s, settings.TokenFile)
	} else if err != nil {
		return Administrator{}, fmt.Errorf("first start: %w", err)
	}
	return Administrator{LoginName: userName, Password: oneTime}, finish(ctx, s, settings.TokenFile)
}

// describe returns an organization and an administrator in it.
func describe(host, orgName, userName, hash string) (store.Instance, store.InstanceEvents) {
	org := domain.Org{
		ID: resource.NewID(), Name: orgName, PrimaryDomain: domain.Slug(orgName) + "." + host, State: domain.OrgActive,
	}
	admin := domain.User{
		ID: resource.NewID(), OrgID: org.ID, Type: domain.Human, UserName: userName,
		FirstName: "Herald", LastName: "Administrator", Email: email(userName, host), EmailVerified: true,
		PasswordHash: domain.Hidden(hash), PasswordChangeRequired: true,
	}
	admin.Settle(false)
	return store.Instance{Org: org, Administrator: admin}, store.InstanceEvents{
		Org: &usersv1.OrgCreated{},
		Administrator: &usersv1.HumanCreated{
			State: usersv1.UserState(admin.State), InitMail: usersv1.InitMail_INIT_MAIL_NOT_NEEDED,
		},
		Member: &usersv1.MemberAdded{UserId: admin.ID, Roles: []string{"IAM_OWNER"}, Instance: true,
			State: usersv1.MembershipState_MEMBERSHIP_STATE_ACTIVE},
	}
}

// email returns the administrator's address. It is at localhost for a host such as ::1, to which no
// mail can be sent.
func email(userName, host string) string {
	if at := userName + "@" + host; domain.CheckEmail("email", at) == nil {
		return at
	}
	return userName + "@localhost"
}

func unfinished(file string) string { return file + ".new" }

// finish gives the token's file its final name if the database has its token. It removes the file of
// a start that was not committed.
func finish(ctx context.Context, s store.Store, file string) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(unfinished(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("administrator's token: %w", err)
	}
	known, err := s.KnownToken(ctx, secret.Hash(strings.TrimSpace(string(text))))
	if err != nil {
		return err
	}
	if !known {
		return os.Remove(unfinished(file))
	}
	if err := secret.RenameFile(unfinished(file), file); err != nil {
		return fmt.Errorf("administrator's token: %w", err)
	}
	return nil
}
