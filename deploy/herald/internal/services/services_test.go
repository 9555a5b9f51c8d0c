package services_test

import (
	"testing"

	"herald/deploy/herald/internal/services"
	"herald/gateway"
)

// The default address has the port, and every address the scheme, that the port takes.
func TestPublicURLIsOfThePort(t *testing.T) {
	t.Parallel()
	tls := gateway.Config{Listen: "127.0.0.1:8443", Certificate: "tls.crt", Key: "tls.key"}
	for name, test := range map[string]struct {
		gateway       gateway.Config
		setting, want string // nothing wanted is an error
	}{
		"default":               {gateway.Config{Listen: ":8080"}, "", "http://localhost:8080"},
		"default with TLS":      {tls, "", "https://localhost:8443"},
		"behind a proxy":        {gateway.Config{Listen: ":8080"}, "https://id.example", "https://id.example"},
		"set with TLS":          {tls, "https://id.example", "https://id.example"},
		"http with TLS":         {tls, "http://id.example", ""},
		"http with a key alone": {gateway.Config{Key: "tls.key"}, "http://id.example", ""},
		"no port":               {gateway.Config{Listen: "localhost"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := services.New()
			all.Gateway = test.gateway
			got, err := all.PublicURL(test.setting)
			if (err != nil) != (test.want == "") || err == nil && got.String() != test.want {
				t.Errorf("%v %v", got, err)
			}
		})
	}
}
