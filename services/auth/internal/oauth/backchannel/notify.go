package backchannel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/services/auth/internal/upstream"
	"herald/shared/outbound"
	"herald/shared/resource"
)

const (
	// tokenLifetime is how long a logout token is valid (section 2.4 recommends two minutes at most).
	tokenLifetime = 2 * time.Minute
	// away is how long a logout waits if a part of Herald does not answer.
	away = 5 * time.Second
	// event is the member of events that says what a logout token is (section 2.4).
	event = "http://schemas.openid.net/event/backchannel-logout"
)

// result is how a try ended.
type result string

const (
	delivered result = "delivered"
	// refused is an answer after which another try is of no use, or an address to which Herald sends nothing.
	refused result = "refused"
	// failed is a try without an answer, or with one after which another try may succeed.
	failed result = "failed"
	// dropped is the logout of an application that is gone, is not active, or has no address any more.
	dropped result = "dropped"
)

// notify sends a logout to an application, and stores the result.
func (n *Notifier) notify(ctx context.Context, l domain.Logout) {
	asking, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	client, err := n.Upstream.Application(asking, l.ClientID, upstream.Proof{})
	if err != nil && !errors.Is(err, upstream.ErrNoClient) {
		l.Tries--                                              // the application was not asked
		writing, cancel := context.WithTimeout(ctx, queryTime) // the question may have used up its time
		defer cancel()
		n.written(n.Store.RepeatLogout(writing, l, away))
		return
	}
	ended := dropped
	if err == nil && client.Active && client.BackChannelLogoutURI != "" {
		ended, err = n.post(ctx, l, client)
	}
	n.count.WithLabelValues(string(ended)).Inc()
	pause, again := l.Pause()
	again = again && ended == failed
	n.log(ctx, l, ended, again, err)
	writing, cancel := context.WithTimeout(ctx, queryTime)
	defer cancel()
	if again {
		n.written(n.Store.RepeatLogout(writing, l, pause))
		return
	}
	n.written(n.Store.FinishLogout(writing, l))
}

// written logs that the result of a try could not be written. The application may then be notified twice.
func (n *Notifier) written(err error) {
	if err != nil {
		n.Log.Warn("an application may be notified twice of a logout", "err", err)
	}
}

func (n *Notifier) log(ctx context.Context, l domain.Logout, ended result, again bool, err error) {
	about := []any{"application", l.ClientID, "session", l.SessionID, "try", l.Tries}
	switch ended {
	case delivered:
		n.Log.InfoContext(ctx, "an application was notified of a logout", about...)
	case dropped:
		n.Log.InfoContext(ctx, "an application does not want to be notified of a logout any more", about...)
	default:
		n.Log.WarnContext(ctx, "an application did not take a logout", append(about, "again", again,
			"err", outbound.Brief(err))...)
	}
}

// post sends a logout token (section 2.5). The body of the answer is not read.
func (n *Notifier) post(ctx context.Context, l domain.Logout, c domain.Client) (result, error) {
	token, err := n.token(l, c)
	if err != nil {
		return failed, err
	}
	form := url.Values{"logout_token": {token}}.Encode()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BackChannelLogoutURI, strings.NewReader(form))
	if err != nil {
		return refused, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("User-Agent", "Herald")
	answer, err := n.http.Do(r)
	if err != nil {
		if failure, ok := errors.AsType[*url.Error](err); ok {
			err = failure.Err // without the address, whose query may have a secret
		}
		if errors.Is(err, outbound.ErrPrivate) {
			return refused, err
		}
		return failed, err
	}
	_ = answer.Body.Close()
	return judge(answer.StatusCode)
}

// judge returns what an answer means (section 2.8).
func judge(status int) (result, error) {
	switch {
	case status >= 200 && status < 300:
		return delivered, nil
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly,
		status == http.StatusTooManyRequests:
		return failed, fmt.Errorf("the application answered %d", status)
	}
	return refused, fmt.Errorf("the application answered %d", status)
}

// token returns a logout token (section 2.4). Each try has a new token, because an application may store the token's id
// before it fails, and would refuse the same token later.
func (n *Notifier) token(l domain.Logout, c domain.Client) (string, error) {
	now := n.Now()
	return n.Keys.Sign(signing.LogoutToken(), domain.Claims{
		"iss": n.Issuer, "sub": l.UserID, "aud": []string{l.ClientID}, "sid": l.SessionID, "jti": resource.NewID(),
		// Clocks of clients may differ by the skew that their owner configured.
		"iat": now.Add(-c.ClockSkew).Unix(), "exp": now.Add(tokenLifetime + c.ClockSkew).Unix(),
		"events": map[string]any{event: struct{}{}},
	})
}

// without returns a list with one of the equal ids removed.
func without(ids []string, id string) []string {
	i := slices.Index(ids, id)
	return slices.Delete(ids, i, i+1)
}
