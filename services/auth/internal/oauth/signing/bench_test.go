package signing

import "testing"

func BenchmarkSign(b *testing.B) {
	w := newWorld(b)
	k := w.replica()
	for _, kind := range []Kind{AccessToken(), IDToken()} {
		b.Run(string(kind.typ), func(b *testing.B) {
			for b.Loop() {
				if _, err := w.token(k, kind); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	w := newWorld(b)
	k := w.replica()
	for _, kind := range []Kind{AccessToken(), IDToken()} {
		token := w.sign(k, kind)
		b.Run(string(kind.typ), func(b *testing.B) {
			for b.Loop() {
				if _, err := k.Verify(kind, token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
