package boot_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"herald/shared/boot"
	"herald/shared/secret"
)

type mail struct {
	Sender string        `env:"HERALD_T_SENDER" envDefault:"herald@localhost"`
	Server secret.Text   `env:"HERALD_T_SMTP"`
	Pause  time.Duration `env:"HERALD_T_PAUSE" envDefault:"5s"`
	Public string        `env:"HERALD_T_PUBLIC"`
	Inside int           // no setting
}

func (mail) Help() map[string]string {
	return map[string]string{
		"HERALD_T_SENDER": "sender of mails",
		"HERALD_T_SMTP":   "mail server",
		"HERALD_T_PAUSE":  "time between tries",
		"HERALD_T_PUBLIC": "public address",
	}
}

type web struct {
	Limit  int         `env:"HERALD_T_LIMIT" envDefault:"1000"`
	Debug  bool        `env:"HERALD_T_DEBUG"`
	Public string      `env:"HERALD_T_PUBLIC"`
	Key    secret.Text `env:"HERALD_T_KEY,required"`
	Level  slog.Level  `env:"HERALD_T_LEVEL" envDefault:"INFO"`
}

func (web) Help() map[string]string {
	return map[string]string{
		"HERALD_T_LIMIT":  "largest page",
		"HERALD_T_DEBUG":  "say more",
		"HERALD_T_PUBLIC": "public address",
		"HERALD_T_KEY":    "master key",
		"HERALD_T_LEVEL":  "log level",
	}
}

type unprefixed struct {
	X string `env:"X"`
}

func (unprefixed) Help() map[string]string { return map[string]string{"X": "x"} }

// file writes a file and returns its path.
func file(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestLoad(t *testing.T) {
	t.Parallel()
	var m mail
	var w web
	environ := []string{
		"PATH=/bin", "herald_t_nothing=lower case is not ours", "HERALD=neither", "NOTHERALD_X=1",
		"HERALD_T_KEY_FILE=" + file(t, "\n\t s3cret line\nsecond \r\n\n"),
		"HERALD_T_PAUSE=1m", "HERALD_T_SENDER=", "HERALD_T_PUBLIC=https://a=b", "HERALD_T_DEBUG=true",
		"HERALD_T_LEVEL=debug", "HERALD_T_LIMIT=7", "HERALD_T_SMTP= kept as it is ",
	}
	if err := boot.Load(environ, &m, &w); err != nil {
		t.Fatal(err)
	}
	if m.Sender != "herald@localhost" || m.Pause != time.Minute || m.Public != "https://a=b" ||
		m.Server.Reveal() != " kept as it is " {
		t.Errorf("%+v, %q", m, m.Server.Reveal())
	}
	if w.Limit != 7 || !w.Debug || w.Public != m.Public || w.Key.Reveal() != "s3cret line\nsecond" ||
		w.Level != slog.LevelDebug {
		t.Errorf("%+v, %q", w, w.Key.Reveal())
	}
}

// An empty value counts as not set: the default applies, and a file may be named.
func TestLoadEmptyBesideFile(t *testing.T) {
	t.Parallel()
	var w web
	if err := boot.Load([]string{"HERALD_T_KEY=", "HERALD_T_KEY_FILE=" + file(t, "k")}, &w); err != nil ||
		w.Key.Reveal() != "k" || w.Limit != 1000 {
		t.Errorf("%v, %+v", err, w)
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	secretFile, key := file(t, "from a file"), "HERALD_T_KEY=planted secret"
	for _, c := range []struct {
		name    string
		environ []string
		want    []string // every line of the error, in its order
	}{
		{"mistyped", []string{key, "HERALD_T_LIMITS=1"},
			[]string{"HERALD_T_LIMITS is not a setting; `herald settings` lists them"}},
		{"mistyped and empty", []string{key, "HERALD_T_LIMITS="},
			[]string{"HERALD_T_LIMITS is not a setting; `herald settings` lists them"}},
		{"the prefix alone", []string{key, "HERALD_=1"},
			[]string{"HERALD_ is not a setting; `herald settings` lists them"}},
		{"in lower case", []string{key, "HERALD_t_limit=1"},
			[]string{"HERALD_t_limit is not a setting; `herald settings` lists them"}},
		{"file of what is no secret", []string{key, "HERALD_T_LIMIT_FILE=" + secretFile},
			[]string{"HERALD_T_LIMIT_FILE is not a setting; `herald settings` lists them"}},
		{"file of a file", []string{key, "HERALD_T_SMTP_FILE_FILE=" + secretFile},
			[]string{"HERALD_T_SMTP_FILE_FILE is not a setting; `herald settings` lists them"}},
		{"both", []string{key, "HERALD_T_KEY_FILE=" + secretFile},
			[]string{"HERALD_T_KEY and HERALD_T_KEY_FILE are both set: keep one"}},
		{"missing file", []string{key, "HERALD_T_SMTP_FILE=/no/such/file"},
			[]string{"HERALD_T_SMTP_FILE: open /no/such/file: no such file or directory"}},
		{"file without a name", []string{key, "HERALD_T_SMTP_FILE="},
			[]string{"HERALD_T_SMTP_FILE: open : no such file or directory"}},
		{"directory", []string{key, "HERALD_T_SMTP_FILE=/"}, []string{"HERALD_T_SMTP_FILE: read /: is a directory"}},
		{"required and missing", nil, []string{`required environment variable "HERALD_T_KEY" is not set`}},
		{"no number", []string{key, "HERALD_T_LIMIT=12x"},
			[]string{`HERALD_T_LIMIT: "12x": invalid syntax (largest page)`}},
		{"no boolean", []string{key, "HERALD_T_DEBUG=perhaps"},
			[]string{`HERALD_T_DEBUG: "perhaps": invalid syntax (say more)`}},
		{"no duration", []string{key, "HERALD_T_PAUSE=5"}, []string{`HERALD_T_PAUSE: unable to parse duration: time: ` +
			`missing unit in duration "5" (time between tries)`}},
		{"no level", []string{key, "HERALD_T_LEVEL=LOUD"},
			[]string{`HERALD_T_LEVEL: slog: level string "LOUD": unknown name (log level)`}},
		{"all at once", []string{"HERALD_T_Z=", "HERALD_T_A=", "HERALD_T_LIMIT=x", key}, []string{
			"HERALD_T_A is not a setting; `herald settings` lists them", "HERALD_T_Z is not a setting; `herald " +
				"settings` lists them",
			`HERALD_T_LIMIT: "x": invalid syntax (largest page)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := boot.Load(c.environ, &mail{}, &web{}, &web{})
			if err == nil {
				t.Fatal("accepted")
			}
			if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, c.want) {
				t.Errorf("%q\nwant %q", got, c.want)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	got, err := boot.Settings(&mail{}, &web{})
	if err != nil {
		t.Fatal(err)
	}
	want := []boot.Setting{
		{"HERALD_T_SENDER", "herald@localhost", "sender of mails", false},
		{"HERALD_T_SMTP", "", "mail server", true},
		{"HERALD_T_PAUSE", "5s", "time between tries", false},
		{"HERALD_T_PUBLIC", "", "public address", false},
		{"HERALD_T_LIMIT", "1000", "largest page", false},
		{"HERALD_T_DEBUG", "", "say more", false},
		{"HERALD_T_KEY", "", "master key", true},
		{"HERALD_T_LEVEL", "INFO", "log level", false},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// A field without help or with a name of another prefix is refused.
func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]any{
		"help": &struct {
			X string `env:"HERALD_X"`
		}{},
		"prefix": &unprefixed{},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := boot.Settings(config); err == nil {
				t.Errorf("accepted without %s", name)
			}
			if boot.Load(nil, config) == nil {
				t.Errorf("loaded without %s", name)
			}
		})
	}
}

// For any environment Load returns the same error twice, does not panic, shows no secret, and
// accepts no HERALD_ name that it does not know.
func FuzzLoad(f *testing.F) {
	const planted = "pLanTed"
	for _, seed := range []string{
		"", "=", "==", "HERALD_", "HERALD_=", "HERALD_T_LIMIT=1", "HERALD_T_LIMIT=99999999999999999999",
		"HERALD_T_PAUSE=1h\nHERALD_T_PAUSE=2", "HERALD_T_KEY_FILE=/dev/null",
		"HERALD_T_KEY_FILE=\x00", "_FILE=x", "HERALD__FILE=x", "HERALD_T_SMTP=${HERALD_T_KEY}",
		"HERALD_T_LEVEL=DEBUG+3", "HERALD_T_SENDER_FILE=/", "HERALD_T_DEBUG=\xff", "PATH",
	} {
		f.Add(seed)
	}
	known, err := boot.Settings(&mail{}, &web{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		environ := append(strings.Split(text, "\n"), "HERALD_T_KEY="+planted)
		for _, line := range environ {
			if name, path, _ := strings.Cut(line, "="); strings.HasSuffix(name, "_FILE") &&
				strings.HasPrefix(path, "/dev/") && path != "/dev/null" {
				return // reading a device may never end
			}
		}
		var m mail
		var w web
		err := boot.Load(environ, &m, &w)
		if again := boot.Load(environ, &mail{}, &web{}); (err == nil) != (again == nil) ||
			err != nil && err.Error() != again.Error() {
			t.Fatalf("%v, then %v", err, again)
		}
		if err != nil {
			if strings.Contains(err.Error(), planted) {
				t.Errorf("the error tells the secret: %v", err)
			}
			return
		}
		if w.Key.Reveal() != planted {
			t.Errorf("key %q", w.Key.Reveal())
		}
		for _, line := range environ {
			name, _, ok := strings.Cut(line, "=")
			if ok && strings.HasPrefix(name, "HERALD_") && !slices.ContainsFunc(known, func(s boot.Setting) bool {
				return s.Name == name || s.Secret && s.Name+"_FILE" == name
			}) {
				t.Errorf("%q was accepted", line)
			}
		}
	})
}
