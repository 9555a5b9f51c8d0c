package protocol_test

import (
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"herald/services/auth/internal/domain"
	"herald/services/auth/internal/oauth/protocol"
)

var (
	declared = regexp.MustCompile(`Refusal\{Code: "([a-z_]+)"`)
	said     = regexp.MustCompile(`\.Say\("(the assertion[^"]*)"\)`)
	row      = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|(?: ([^|]+) \\|)? [^|]+ \\|$")
)

// elsewhere are the statuses of a code that Fail does not give, with who gives them.
var elsewhere = map[string]string{
	"invalid_request":         "405, 413", // Only, and the gateway for a body that is too long
	"temporarily_unavailable": "504",      // the gateway, if auth does not answer in time
}

// The guide lists each error with its HTTP statuses, each description of a refused assertion, and no others.
func TestGuideListsErrors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../../../docs/login-by-program.md")
	if err != nil {
		t.Fatal(err)
	}
	want := errorsInSources(t)
	if len(want) < 30 {
		t.Errorf("only %d errors were found", len(want))
	}
	for _, wrong := range misguided(string(text), want) {
		t.Error("docs/login-by-program.md " + wrong)
	}
}

func TestWrongGuideIsRefused(t *testing.T) {
	t.Parallel()
	const head = "\n## Errors\n\n| Error | HTTP | What to change |\n"
	const right = "| `invalid_token` | 401 | log in |\n"
	for name, test := range map[string]struct{ guide, want string }{
		"right":               {head + right, ""},
		"a redirect":          {head + "| `invalid_token` | redirect | log in |\n", "says redirect for"},
		"another status":      {head + "| `invalid_token` | 403 | log in |\n", "says 403 for"},
		"one status too many": {head + "| `invalid_token` | 401, 403 | log in |\n", "says 401, 403 for"},
		"a row twice":         {head + right + right, "lists \"invalid_token\" twice"},
		"a row that is gone":  {head, "does not say what to change after \"invalid_token\""},
		"an unknown error":    {head + right + "| `invalid` | 401 | log in |\n", "which is no error"},
		"no section":          {right, "has no section on errors"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(misguided(test.guide, map[string]string{"invalid_token": "401"}), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// misguided compares a guide with the errors, which have their statuses as the guide must say them.
func misguided(guide string, want map[string]string) (wrong []string) {
	_, section, found := strings.Cut(guide, "\n## Errors\n")
	if !found {
		return []string{"has no section on errors"}
	}
	section, _, _ = strings.Cut(section, "\n## ") // the tables of further sections are about something else
	listed := map[string]string{}
	for _, r := range row.FindAllStringSubmatch(section, -1) {
		if _, twice := listed[r[1]]; twice {
			wrong = append(wrong, "lists "+strconv.Quote(r[1])+" twice")
		}
		listed[r[1]] = r[2]
		if _, there := want[r[1]]; !there {
			wrong = append(wrong, "lists "+strconv.Quote(r[1])+", which is no error")
		}
	}
	for code, statuses := range want {
		said, there := listed[code]
		switch by := strings.TrimPrefix(said, "redirect, "); {
		case !there:
			wrong = append(wrong, "does not say what to change after "+strconv.Quote(code))
		case by == statuses, by == "redirect" && statuses == "400":
		default:
			wrong = append(wrong, "says "+said+" for "+code+", whose status is "+statuses)
		}
	}
	return wrong
}

// errorsInSources returns the codes that auth declares, with their statuses, and the descriptions of refused
// assertions, which have none.
func errorsInSources(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir("../..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, d := range declared.FindAllStringSubmatch(string(source), -1) {
			all[d[1]] = statuses(t, d[1])
		}
		for _, s := range said.FindAllStringSubmatch(string(source), -1) {
			all[s[1]] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// statuses returns the statuses with which a code is answered, in the order of the guide.
func statuses(t *testing.T, code string) string {
	refusals := []*domain.Refusal{{Code: code}}
	if domain.ErrTooMany.Code == code {
		refusals = append(refusals, domain.ErrTooMany)
	}
	var all []string
	for _, refusal := range refusals {
		w := httptest.NewRecorder()
		protocol.Fail(slog.New(slog.DiscardHandler), w, httptest.NewRequest("POST", "/", nil), refusal)
		all = append(all, strconv.Itoa(w.Code))
	}
	if more := elsewhere[code]; more != "" {
		all = append(all, strings.Split(more, ", ")...)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
