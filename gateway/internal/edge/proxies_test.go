package edge

import (
	"net/http"
	"testing"
)

func TestClientIsTheLastAddressThatIsNoTrustedProxy(t *testing.T) {
	t.Parallel()
	trusted, err := parseProxies("10.0.0.0/8, 192.0.2.1,2001:db8:ffff::/48,")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, from string
		forwarded  []string
		want       string
	}{
		{"nobody before it", "198.51.100.7:1234", nil, "198.51.100.7"},
		{"a client that says it is another", "198.51.100.7:1234", []string{"203.0.113.9"}, "198.51.100.7"},
		{"a proxy", "10.1.2.3:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"a proxy by its own address", "192.0.2.1:1", []string{"203.0.113.9"}, "203.0.113.9"},
		{"a neighbour of that proxy", "192.0.2.2:1", []string{"203.0.113.9"}, "192.0.2.2"},
		{"two proxies", "10.1.2.3:1", []string{"203.0.113.9, 10.9.9.9"}, "203.0.113.9"},
		{"two headers", "10.1.2.3:1", []string{"203.0.113.9", "10.9.9.9"}, "203.0.113.9"},
		{"a client that invents one before it", "10.1.2.3:1", []string{"1.1.1.1, 203.0.113.9"}, "203.0.113.9"},
		{"a client that claims to be one", "10.1.2.3:1", []string{"1.1.1.1, 10.7.7.7 , 203.0.113.9"}, "203.0.113.9"},
		{"proxies only", "10.1.2.3:1", []string{"10.7.7.7"}, "10.7.7.7"},
		{"a proxy that says nothing", "10.1.2.3:1", nil, "10.1.2.3"},
		{"a proxy that says no address", "10.1.2.3:1", []string{"203.0.113.9, unknown"}, "10.1.2.3"},
		{"IPv6", "[2001:db8:1:2:3:4:5:6]:1", nil, "2001:db8:1:2::/64"},
		{"its neighbour", "[2001:db8:1:2:ffff::1]:1", nil, "2001:db8:1:2::/64"},
		{"another network", "[2001:db8:1:3::1]:1", nil, "2001:db8:1:3::/64"},
		{"a zone", "[fe80::1%eth0]:1", nil, "fe80::/64"},
		{"IPv4 as IPv6", "[::ffff:198.51.100.7]:1", nil, "198.51.100.7"},
		{"a proxy by IPv4 as IPv6", "[::ffff:10.1.2.3]:1", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		{"a proxy by IPv6", "[2001:db8:ffff::1]:1", []string{"2001:db8:1:2::9"}, "2001:db8:1:2::/64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := &http.Request{RemoteAddr: c.from, Header: http.Header{"X-Forwarded-For": c.forwarded}}
			if got := trusted.client(r); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestMalformedProxiesAreRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"proxy.example", "10.0.0.0/33", "10.0.0", "10.0.0.1;10.0.0.2"} {
		if all, err := parseProxies(bad); err == nil {
			t.Errorf("%q is read as %v", bad, all)
		}
	}
}
