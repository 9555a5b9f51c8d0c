package exchange_test

import (
	"testing"

	"herald/gateway/internal/exchange"
)

// A value is accepted if a list names it, in any case, and not with weight 0.
func TestAccepts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lists []string
		want  bool
	}{
		"nothing":           {nil, false},
		"the value":         {[]string{"gzip"}, true},
		"another":           {[]string{"gzipped"}, false},
		"any case":          {[]string{" GZip "}, true},
		"second of a list":  {[]string{"br, gzip"}, true},
		"second list":       {[]string{"br", "gzip"}, true},
		"range":             {[]string{"*"}, false},
		"weight":            {[]string{"gzip;q=0.1"}, true},
		"weight with space": {[]string{"gzip ; q = 0.1"}, true},
		"weight 0":          {[]string{"gzip;q=0"}, false},
		"weight 0.000":      {[]string{"gzip;Q=0.000"}, false},
		"malformed weight":  {[]string{"gzip;q=x"}, false},
		"no weight at all":  {[]string{"gzip;q"}, false},
		"other parameter":   {[]string{"gzip;charset=utf-8"}, true},
		"weight after it":   {[]string{"gzip;charset=utf-8;q=0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exchange.Accepts(test.lists, "gzip"); got != test.want {
				t.Errorf("Accepts(%q) = %v", test.lists, got)
			}
		})
	}
}
