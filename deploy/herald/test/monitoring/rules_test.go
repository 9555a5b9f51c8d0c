// Package monitoring_test runs the programs of deploy/monitoring on a real Herald.
package monitoring_test

import (
	"bufio"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
)

// alert is a rule of alerts.yml.
type alert struct {
	Alert, Expr         string
	Labels, Annotations map[string]string
}

func alerts(t *testing.T) []alert {
	t.Helper()
	var file struct{ Groups []struct{ Rules []alert } }
	parse(t, "alerts.yml", &file)
	return file.Groups[0].Rules
}

func parse(t *testing.T, file string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(whole.File(t, "deploy/monitoring/"+file)), into); err != nil {
		t.Fatal(err)
	}
}

// Each alert fires in a test of promtool and stays quiet in the healthy one.
func TestRules(t *testing.T) {
	t.Parallel()
	var file struct {
		Tests []struct {
			Name  string
			Cases []struct {
				Name string `yaml:"alertname"`
				Want []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	parse(t, "alerts_test.yml", &file)
	var quiet, fires []string
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			switch {
			case len(c.Want) > 0:
				fires = append(fires, c.Name)
			case test.Name == "healthy":
				quiet = append(quiet, c.Name)
			}
		}
	}
	for _, a := range alerts(t) {
		if !slices.Contains(quiet, a.Alert) || !slices.Contains(fires, a.Alert) {
			t.Errorf("%s needs a case in the healthy test of alerts_test.yml, and a test in which it fires", a.Alert)
		}
	}
	if debian(t) {
		for _, args := range [][]string{
			{"test", "rules", "alerts_test.yml"}, {"check", "config", "prometheus.yml"},
		} {
			c := exec.Command("promtool", args...)
			c.Dir = whole.Root(t) + "/deploy/monitoring"
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
}

// debian reports whether there are packages of Debian, which `make test` installs.
func debian(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("apt-get")
	if err != nil {
		t.Log("Prometheus is a package of Debian only")
	}
	return err == nil
}

// Each alert says how urgent it is and what is wrong, and links to its section of the guide.
func TestEachAlertHasASection(t *testing.T) {
	t.Parallel()
	heading := regexp.MustCompile(`(?m)^## (Herald\w+)$`)
	var described []string
	for _, s := range heading.FindAllStringSubmatch(whole.File(t, "docs/monitoring.md"), -1) {
		described = append(described, s[1])
	}
	var all []string
	for _, a := range alerts(t) {
		all = append(all, a.Alert)
		if a.Annotations["summary"] == "" || !slices.Contains([]string{"critical", "warning"}, a.Labels["severity"]) {
			t.Errorf("%s has no summary or no severity", a.Alert)
		}
		url := "{{ $externalLabels.herald }}/docs/monitoring#" + strings.ToLower(a.Alert)
		if got := a.Annotations["runbook_url"]; got != url {
			t.Errorf("the runbook of %s is %s, want %s", a.Alert, got, url)
		}
	}
	if !slices.Equal(described, all) {
		t.Errorf("docs/monitoring.md describes\n%q, and the alerts are\n%q", described, all)
	}
}

// The configuration names every service.
func TestEveryServiceIsScraped(t *testing.T) {
	t.Parallel()
	names := slices.Sorted(slices.Values(append(services.Names(), "gateway")))
	var file config
	parse(t, "prometheus.yml", &file)
	got := slices.Sorted(slices.Values(file.Scrape[0].DNS[0].Names))
	if !slices.Equal(got, names) {
		t.Errorf("prometheus.yml names %q, and the services are %q", got, names)
	}
}

// config is what the tests read of prometheus.yml.
type config struct {
	Scrape []struct {
		DNS []struct{ Names []string } `yaml:"dns_sd_configs"`
	} `yaml:"scrape_configs"`
}

var (
	sample   = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)
	label    = regexp.MustCompile(`(\w+)=~?"|(\w+)!~?"`)
	selector = regexp.MustCompile(`\b((?:herald|process|go)_[a-z_]+)(?:\{([^}]*)\})?`)
)

// labels returns the names of the labels in braces.
func labels(braces string) (names []string) {
	for _, l := range label.FindAllStringSubmatch(braces, -1) {
		names = append(names, l[1]+l[2])
	}
	return names
}

// A running Herald shows each metric and each label that the alerts and the dashboard name.
func TestMetricsExist(t *testing.T) {
	t.Parallel()
	shown := metrics(t)
	for _, a := range alerts(t) {
		known(t, a.Alert, a.Expr, shown)
	}
	for title, queries := range panels(t) {
		for _, q := range queries {
			known(t, "the panel "+title, q, shown)
		}
	}
}

// known checks that there are the metrics and labels of an expression. The process and the instance of a metric are
// labels that Prometheus adds.
func known(t *testing.T, name, expr string, shown map[string][]string) {
	t.Helper()
	for _, s := range selector.FindAllStringSubmatch(expr, -1) {
		has, there := shown[s[1]]
		if !there {
			t.Errorf("%s: Herald has no metric %s", name, s[1])
			continue
		}
		for _, l := range labels(s[2]) {
			if !slices.Contains(append(has, "job", "process", "instance"), l) {
				t.Errorf("%s: %s has no label %s", name, s[1], l)
			}
		}
	}
}

// metrics returns the metrics of a Herald with some traffic, and of one with a certificate, with their labels.
func metrics(t *testing.T) map[string][]string {
	t.Helper()
	cert := testkit.NewServedCertificate(t, whole.Dir(t), time.Now().Add(time.Hour))
	plain, secured := whole.FreeAddress(t), whole.FreeAddress(t)
	i := whole.Start(t, "HERALD_OPS_LISTEN="+plain)
	i.Import("mini")
	i.ChoosePassword("mini@example.com")
	whole.Visit(t, http.DefaultClient, i.URL+"/oauth/v2/authorize?client_id=none", nil)
	whole.Visit(t, http.DefaultClient, i.URL+"/oauth/v2/token", url.Values{"grant_type": {"none"}})
	whole.Start(t, "HERALD_OPS_LISTEN="+secured, "HERALD_TLS_CERT_FILE="+cert.Cert, "HERALD_TLS_KEY_FILE="+cert.Key)
	shown := map[string][]string{}
	for _, ops := range []string{plain, secured} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+ops+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		read(t, answer.Body, shown)
		answer.Body.Close()
	}
	return shown
}

func read(t *testing.T, from io.Reader, shown map[string][]string) {
	t.Helper()
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		if s := sample.FindStringSubmatch(lines.Text()); s != nil {
			shown[s[1]] = labels(s[2])
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}
