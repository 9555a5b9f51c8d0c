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

// BenchmarkAnonymousResend asks for mails for users who get one and for users who do not exist, one of each in
// random order. The times of the answers must not tell one from the other: medians within 3 %, |t| of Welch's test
// below 4.
func BenchmarkAnonymousResend(b *testing.B) {
	i := whole.Start(b, "HERALD_LOG_LEVEL=WARN", "HERALD_TRUSTED_PROXIES=127.0.0.1,::1")
	ids := [2][]string{}
	for n := range samples {
		known := whole.Active(fmt.Sprint("known-", n))
		ids[0] = append(ids[0], made(i, "/management/v1/users/human/_import", known, "userId"))
		ids[1] = append(ids[1], fmt.Sprint("nobody-", n))
	}
	client := &http.Client{}
	ask := func(user string, n int) time.Duration {
		form := url.Values{"userID": {user}, "orgID": {"o"}}
		r, err := http.NewRequest(http.MethodPost, i.URL+"/ui/login/password/reset/resend",
			strings.NewReader(form.Encode()))
		check(b, err)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", i.URL)
		r.Header.Set("X-Forwarded-For", fmt.Sprintf("192.0.%d.%d", n/250, n%250)) // a client has 60 posts a minute
		begun := time.Now()
		answer, err := client.Do(r)
		check(b, err)
		took := time.Since(begun)
		check(b, answer.Body.Close())
		if answer.StatusCode != http.StatusOK {
			b.Fatal(answer.Status)
		}
		return took
	}
	for n := range 50 { // the first connections and statements are slower
		ask("nobody", n)
	}
	times := [2][]float64{}
	for n := range samples { // in pairs, so that what else the machine does affects both
		for _, kind := range rand.Perm(2) {
			times[kind] = append(times[kind], ask(ids[kind][n], 2*n+kind).Seconds()*1000)
		}
	}
	known, unknown := median(times[0]), median(times[1])
	apart, t := 100*math.Abs(known-unknown)/unknown, welch(times[0], times[1])
	b.ReportMetric(0, "ns/op")
	b.Logf("answers for known users: median %.3f ms, for unknown ones: %.3f ms, %.1f %% apart, t = %.2f",
		known, unknown, apart, t)
	if apart > 3 || math.Abs(t) >= 4 {
		b.Error("the times tell known users from unknown ones")
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
