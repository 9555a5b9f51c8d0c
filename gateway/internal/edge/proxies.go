package edge

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the addresses of the proxies in front of the gateway, which send the client's address in
// X-Forwarded-For. The header of others is ignored: a client can send it itself.
type proxies []netip.Prefix

// parseProxies reads addresses such as 10.0.0.7 and ranges such as 10.0.0.0/8, with commas between them.
func parseProxies(list string) (all proxies, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if name == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(name)
		if err != nil {
			address, notOne := netip.ParseAddr(name)
			if notOne != nil {
				return nil, fmt.Errorf("HERALD_TRUSTED_PROXIES: %q is no address and no range such as 10.0.0.0/8", name)
			}
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		all = append(all, prefix)
	}
	return all, nil
}

func (p proxies) trust(a netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(a) {
			return true
		}
	}
	return false
}

// client returns the address of the client: the other end of the connection or, if that is a trusted proxy, the last
// address in X-Forwarded-For that is not a trusted proxy. Each proxy appends the address that it sees, so the
// addresses before that one may be invented. It returns the /64 of an IPv6 address, because one client may have all of
// it.
func (p proxies) client(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	client := at.Addr().Unmap()
	passed := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(passed) - 1; i >= 0 && p.trust(client); i-- {
		before, err := netip.ParseAddr(strings.TrimSpace(passed[i]))
		if err != nil {
			break
		}
		client = before.Unmap()
	}
	if client.Is4() {
		return client.String()
	}
	return netip.PrefixFrom(client.WithZone(""), 64).Masked().String()
}
