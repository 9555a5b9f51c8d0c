package testworld

import (
	"sync"
	"testing"
	"time"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/signing"
	"herald/shared/boot"
)

// pairs returns two key pairs of each algorithm, which all tests share because RSA pairs take long to make.
var pairs = sync.OnceValues(func() (made map[domain.Algorithm][2][]byte, err error) {
	made = map[domain.Algorithm][2][]byte{}
	for _, a := range domain.Algorithms() {
		var two [2][]byte
		for i := range two {
			if two[i], err = signing.NewPair(a); err != nil {
				return nil, err
			}
		}
		made[a] = two
	}
	return made, nil
})

// ShareKeys stores the shared keys in a service's database: one of each algorithm that signs, and one that waits.
func ShareKeys(t *testing.T, s *boot.Service) {
	t.Helper()
	shared, err := pairs()
	if err != nil {
		t.Fatal(err)
	}
	for a, two := range shared {
		for i, pair := range two {
			id := string(a) + []string{"-signs", "-waits"}[i]
			signsAt := s.Now().Add(time.Duration(i)*30*24*time.Hour - time.Hour)
			if _, err := s.DB.Exec(t.Context(), `insert into signing_keys values ($1, $2, $3, $4, 1, $5, $5)`, id, a,
				s.Keys.Seal(pair, domain.SealedPrivateKey, id), signsAt, s.Now()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
