package monitoring_test

import (
	"encoding/json"
	"strings"
	"testing"

	"herald/deploy/herald/test/whole"
)

// panels returns the queries of the dashboard by the title of their panel. Grafana puts an interval into them.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var file struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(whole.File(t, "deploy/monitoring/dashboard.json")), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, p := range file.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for _, target := range p.Targets {
			all[p.Title] = append(all[p.Title], strings.ReplaceAll(target.Expr, "$__rate_interval", "1m"))
		}
	}
	return all
}
