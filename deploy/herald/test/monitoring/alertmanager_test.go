package monitoring_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"herald/deploy/herald/test/whole"
	"herald/shared/testkit"
	"herald/shared/testkit/outside"
)

// notice is what Alertmanager sends to a webhook.
type notice struct {
	Alerts []struct{ Labels, Annotations map[string]string }
}

// A service is killed. Prometheus sees it, and Alertmanager tells people, with a link to the guide.
func TestAlertmanagerTellsThatAServiceIsDown(t *testing.T) {
	t.Parallel()
	if !debian(t) {
		return
	}
	p := whole.NewProcesses(t, outside.StartMailServer(t, outside.MailConfig{}).URL())
	p.StartAll()
	told := make(chan notice, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		told <- n
	}))
	t.Cleanup(hook.Close)
	manager := whole.FreeAddress(t)
	dir := whole.Dir(t)
	write(t, dir+"/alertmanager.yml", fmt.Sprintf("route: {receiver: people, group_wait: 0s, group_interval: 1s}\n"+
		"receivers: [{name: people, webhook_configs: [{url: %q}]}]\n", hook.URL))
	run(t, "prometheus-alertmanager", "Listening on", "--config.file="+dir+"/alertmanager.yml",
		"--storage.path="+dir+"/alertmanager", "--web.listen-address="+manager, "--cluster.listen-address=")
	write(t, dir+"/prometheus.yml", configuration(t, p.Ops(), manager))
	// The same alerts, sooner.
	write(t, dir+"/alerts.yml", regexp.MustCompile(`for: \w+`).ReplaceAllString(
		whole.File(t, "deploy/monitoring/alerts.yml"), "for: 1s"))
	server := whole.FreeAddress(t)
	run(t, "prometheus", "Server is ready", "--config.file="+dir+"/prometheus.yml",
		"--storage.tsdb.path="+dir+"/data", "--web.listen-address="+server)
	awaitScraped(t, server, len(p.Ops()))
	for _, queries := range panels(t) {
		for _, q := range queries {
			query(t, server, q)
		}
	}
	p.Kill("projects")
	limit := time.After(time.Minute)
	for {
		select {
		case n := <-told:
			for _, a := range n.Alerts {
				if a.Labels["alertname"] != "HeraldServiceDown" {
					continue
				}
				if a.Labels["process"] != "projects" || a.Annotations["summary"] != "No replica of projects answers." ||
					a.Annotations["runbook_url"] != "http://localhost:8080/docs/monitoring#heraldservicedown" {
					t.Errorf("told is %v %v", a.Labels, a.Annotations)
				}
				return
			}
		case <-limit:
			t.Fatal("nobody is told within a minute that projects is down")
		}
	}
}

// configuration returns prometheus.yml with the addresses of this test in place of those of containers, and with what
// the guide says about Alertmanager.
func configuration(t *testing.T, ops map[string]string, manager string) string {
	t.Helper()
	block := regexp.MustCompile("(?s)```yaml\n(alerting:.*?)```")
	guide := block.FindStringSubmatch(whole.File(t, "docs/monitoring.md"))
	if guide == nil || !strings.Contains(guide[1], "alertmanager:9093") {
		t.Fatal("the guide does not say how to add Alertmanager")
	}
	var all map[string]any
	text := whole.File(t, "deploy/monitoring/prometheus.yml") +
		strings.Replace(guide[1], "alertmanager:9093", manager, 1)
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		t.Fatal(err)
	}
	global := all["global"].(map[string]any)
	global["scrape_interval"], global["evaluation_interval"] = "1s", "1s"
	scrape := all["scrape_configs"].([]any)[0].(map[string]any)
	delete(scrape, "dns_sd_configs")
	var targets []any
	for service, address := range ops {
		targets = append(targets, map[string]any{
			"targets": []string{address}, "labels": map[string]string{"__meta_dns_name": service},
		})
	}
	scrape["static_configs"] = targets
	out, err := yaml.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// run starts a program and returns when its log has a text. It ends with the test.
func run(t *testing.T, program, ready string, args ...string) {
	t.Helper()
	logs := &testkit.Lines{}
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = logs, logs
	if err := c.Start(); err != nil {
		t.Fatalf("%v; type: deploy/setup.sh clients", err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
		if t.Failed() {
			t.Logf("%s: %s", program, logs.String())
		}
	})
	logs.Wait(t, ready)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// awaitScraped waits until Prometheus has scraped n processes.
func awaitScraped(t *testing.T, server string, n int) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for range 300 {
		if len(query(t, server, "up == 1")) == n {
			return
		}
		<-tick.C
	}
	t.Fatalf("Prometheus does not scrape %d processes", n)
}

// query asks Prometheus, which must understand it.
func query(t *testing.T, server, text string) (found []any) {
	t.Helper()
	address := "http://" + server + "/api/v1/query?query=" + url.QueryEscape(text)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Error string
		Data  struct{ Result []any }
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil || said.Error != "" {
		t.Fatalf("%s: %v %s", text, err, said.Error)
	}
	return said.Data.Result
}
