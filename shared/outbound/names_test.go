package outbound_test

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// serveNames returns a resolver for which every name has one address.
func serveNames(t *testing.T, address netip.Addr) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		packet := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil {
				return
			}
			if answer, err := resolved(m, address).Pack(); err == nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// resolved answers a question with an address, if it is of the kind that was asked for.
func resolved(m dnsmessage.Message, address netip.Addr) *dnsmessage.Message {
	q := m.Questions[0]
	head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class}
	answer := dnsmessage.Message{Questions: m.Questions,
		Header: dnsmessage.Header{ID: m.ID, Response: true, RecursionAvailable: true}}
	switch {
	case q.Type == dnsmessage.TypeA && address.Is4():
		answer.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: address.As4()}}}
	case q.Type == dnsmessage.TypeAAAA && address.Is6():
		answer.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	return &answer
}
