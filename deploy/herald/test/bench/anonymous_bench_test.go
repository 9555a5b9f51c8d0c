package bench_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/deploy/herald/test/whole"
)

// samples is how often each kind of user is asked about.
const samples = 500

// anonymous is an instance with users, and a client without a token that sends requests about them.
type anonymous struct {
	*whole.Instance
	b *testing.B
}

func newAnonymous(b *testing.B) anonymous {
	return anonymous{whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_TRUSTED_PROXIES=127.0.0.1,::1"), b}
}

// ids returns the ids of known users, each imported with a body, and as many ids that no user has.
func (a anonymous) ids(name string, body func(id string) string) (known, unknown []string) {
	for n := range samples {
		person := body(fmt.Sprint(name, n))
		known = append(known, made(a.Instance, "/management/v1/users/human/_import", person, "userId"))
		unknown = append(unknown, fmt.Sprint("nobody-", name, n))
	}
	return known, unknown
}

// post returns how long a form takes, from the n-th client: each has 60 posts a minute.
func (a anonymous) post(path string, form url.Values, n, status int) time.Duration {
	a.b.Helper()
	r, err := http.NewRequest(http.MethodPost, a.URL+path, strings.NewReader(form.Encode()))
	check(a.b, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", a.URL)
	r.Header.Set("Cookie", whole.Visited)
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("10.%d.%d.%d", n/62500, n/250%250, n%250))
	begun := time.Now()
	answer, err := http.DefaultClient.Do(r)
	check(a.b, err)
	took := time.Since(begun)
	check(a.b, answer.Body.Close())
	if answer.StatusCode != status {
		a.b.Fatal(answer.Status)
	}
	return took
}

// alike posts a form with a field that names known and unknown users, one of each in random order. The times of the
// answers must not tell one from the other: medians within 3 %, |t| of Welch's test below 4.
func (a anonymous) alike(path, field string, form url.Values, status int, known, unknown []string) {
	a.b.Helper()
	post := func(user string, n int) time.Duration {
		form.Set(field, user)
		return a.post(path, form, n, status)
	}
	for n := range 50 { // the first connections and statements are slower
		post(fmt.Sprint("nobody-at-first-", n), n)
	}
	users, times := [2][]string{known, unknown}, [2][]float64{}
	for n := range samples { // in pairs, so that what else the machine does affects both
		for _, kind := range rand.Perm(2) {
			took := post(users[kind][n], 2*n+kind)
			times[kind] = append(times[kind], took.Seconds()*1000)
		}
	}
	of, other := median(times[0]), median(times[1])
	apart, t := 100*math.Abs(of-other)/other, welch(times[0], times[1])
	a.b.ReportMetric(0, "ns/op")
	a.b.Logf("%s, such as %s: median for known users %.3f ms, for unknown ones %.3f ms, %.1f %% apart, t = %.2f",
		path, known[0], of, other, apart, t)
	if apart > 3 || math.Abs(t) >= 4 {
		a.b.Error("the times tell known users from unknown ones")
	}
}

// BenchmarkAnonymousResend asks for mails for users who get one and for users who do not exist.
func BenchmarkAnonymousResend(b *testing.B) {
	a := newAnonymous(b)
	known, unknown := a.ids("known-", whole.Active)
	a.alike("/ui/login/password/reset/resend", "userID", url.Values{"orgID": {"o"}}, http.StatusOK, known, unknown)
}

// BenchmarkAnonymousWrongCode posts the forms of mails with a wrong code, for users who have a code and for users who
// do not exist.
func BenchmarkAnonymousWrongCode(b *testing.B) {
	a := newAnonymous(b)
	form := url.Values{
		"code": {"AAAAAAAA"}, "password": {"correct horse battery"}, "confirmation": {"correct horse battery"},
	}
	initial, nobody := a.ids("initial-", whole.Person)
	active, noone := a.ids("active-", whole.Active)
	for _, id := range active {
		a.Must("POST", "/management/v1/users/"+id+"/password/_reset", `{}`)
	}
	a.alike("/ui/login/user/init", "userID", form, http.StatusBadRequest, initial, nobody)
	a.alike("/ui/login/password/reset", "userID", form, http.StatusBadRequest, active, noone)
}

// BenchmarkAnonymousLogin logs in with a wrong password as users of each state, by login name and by e-mail, and as
// nobody.
func BenchmarkAnonymousLogin(b *testing.B) {
	a := newAnonymous(b)
	form := url.Values{"current": {"wrong horse battery"}}
	// As users who chose their passwords here: hashes of other systems take another time.
	person := func(id string) string {
		return strings.Replace(whole.Person(id), `@example.com"`, `@example.com","isEmailVerified":true`, 1)
	}
	withPassword := func(person string) string {
		return strings.TrimSuffix(person, "}") + `,"password":"correct horse battery"}`
	}
	active := func(id string) string { return withPassword(person(id)) }
	for _, c := range []struct {
		kind, change string
		body         func(id string) string
		name         func(id string) string
	}{
		{kind: "active", body: active},
		{kind: "mailed", body: active, name: func(id string) string { return id + "@example.com" }},
		{kind: "locked", body: active, change: "_lock"},
		{kind: "inactive", body: active, change: "_deactivate"},
		{kind: "initial", body: func(id string) string { return withPassword(whole.Person(id)) }},
		{kind: "without-password", body: whole.Person},
	} {
		b.Run(c.kind, func(b *testing.B) {
			a := anonymous{a.Instance, b}
			known, unknown := a.ids(c.kind+"-", c.body)
			for n, id := range known {
				if c.change != "" {
					a.Must("POST", "/management/v1/users/"+id+"/"+c.change, `{}`)
				}
				if c.name != nil {
					known[n], unknown[n] = c.name(id), c.name(unknown[n])
				}
			}
			a.alike("/ui/login/password", "name", form, http.StatusBadRequest, known, unknown)
		})
	}
}

func median(all []float64) float64 {
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// welch returns Welch's t: the difference of the means in standard errors.
func welch(a, b []float64) float64 {
	x, u := moments(a)
	y, v := moments(b)
	return (x - y) / math.Sqrt(u/float64(len(a))+v/float64(len(b)))
}

func moments(all []float64) (mean, variance float64) {
	for _, x := range all {
		mean += x / float64(len(all))
	}
	for _, x := range all {
		variance += (x - mean) * (x - mean) / float64(len(all)-1)
	}
	return mean, variance
}
