package containers_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"herald/deploy/herald/internal/services"
	"herald/deploy/herald/test/whole"
)

// object is what these tests read of an object of Kubernetes.
type object struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string // of a ConfigMap
	Spec     struct {
		Selector struct{ MatchLabels map[string]string }
		Template struct {
			Metadata struct{ Labels map[string]string }
			Spec     pod
		}
		PodSelector selector
		Egress      []struct {
			To []struct{ PodSelector selector }
		}
	}
}

type selector struct {
	MatchLabels      map[string]string
	MatchExpressions []struct {
		Key, Operator string
		Values        []string
	}
}

// selects reports whether a selector takes a pod with these labels.
func (s selector) selects(labels map[string]string) bool {
	for key, value := range s.MatchLabels {
		if labels[key] != value {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		if slices.Contains(e.Values, labels[e.Key]) != (e.Operator == "In") {
			return false
		}
	}
	return true
}

type pod struct {
	AutomountServiceAccountToken *bool
	SecurityContext              struct {
		RunAsNonRoot   bool
		SeccompProfile struct{ Type string }
	}
	Containers []containerSpec
}

type containerSpec struct {
	Args []string
	Env  []struct{ Name string }

	LivenessProbe, ReadinessProbe *struct{ HTTPGet struct{ Path string } }

	SecurityContext struct {
		AllowPrivilegeEscalation *bool
		ReadOnlyRootFilesystem   bool
		Capabilities             struct{ Drop []string }
	}
	Resources struct {
		Requests, Limits map[string]string
	}
}

// overlays are the folders of deploy/cluster/kustomize that are applied.
var overlays = []string{"small", "production"}

// overlay returns the objects of an overlay. The program that builds them refuses fields that Kubernetes does not know.
func overlay(t *testing.T, name string) []object {
	t.Helper()
	root, dir := whole.Root(t), t.TempDir()
	// Because the test reads the files, go test runs it again when they change.
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "deploy/cluster/kustomize"))); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "run", ".", filepath.Join(dir, name))
	build.Dir = filepath.Join(root, "tools/kubernetes")
	build.Env = append(build.Environ(), "GOWORK=off")
	out, err := build.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%s: %s", name, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var all []object
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// of returns the objects of a kind by their name.
func of(all []object, kind string) map[string]object {
	found := map[string]object{}
	for _, o := range all {
		if o.Kind == kind {
			found[o.Metadata.Name] = o
		}
	}
	return found
}

// In Kubernetes every service and the gateway has a Deployment whose pods have no rights and are probed, and a
// disruption budget for these pods. All settings are settings of Herald.
func TestEveryServiceIsInKubernetes(t *testing.T) {
	t.Parallel()
	known := whole.File(t, "docs/settings.md")
	for _, name := range overlays {
		all := overlay(t, name)
		deployments, budgets := of(all, "Deployment"), of(all, "PodDisruptionBudget")
		for _, service := range append(services.Names(), "gateway") {
			d, there := deployments[service]
			if !there {
				t.Errorf("%s has no Deployment for %s: add a file like that of another service to base", name, service)
				continue
			}
			c := d.Spec.Template.Spec.Containers[0]
			if !slices.Equal(c.Args, []string{service}) {
				t.Errorf("%s: %s runs %q", name, service, c.Args)
			}
			if c.LivenessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe == nil ||
				c.ReadinessProbe.HTTPGet.Path != "/readyz" {
				t.Errorf("%s: %s is not probed", name, service)
			}
			labels := d.Spec.Template.Metadata.Labels
			if !(selector{MatchLabels: d.Spec.Selector.MatchLabels}).selects(labels) ||
				!(selector{MatchLabels: budgets[service].Spec.Selector.MatchLabels}).selects(labels) ||
				budgets[service].Spec.Selector.MatchLabels == nil {
				t.Errorf("%s: the Deployment or the budget of %s selects other pods", name, service)
			}
		}
		for _, o := range all {
			if o.Metadata.Namespace != "herald" {
				t.Errorf("%s: %s %s is in the namespace %q", name, o.Kind, o.Metadata.Name, o.Metadata.Namespace)
			}
			if containers := o.Spec.Template.Spec.Containers; containers != nil {
				o.Spec.Template.Spec.hasNoRights(t, name+": "+o.Metadata.Name)
			}
			for _, setting := range o.settings() {
				if !strings.HasPrefix(setting, "HERALD_") || strings.Contains(known, "`"+setting+"`") {
					continue
				}
				secret, file := strings.CutSuffix(setting, "_FILE")
				if !file || !strings.Contains(known, "`"+secret+"`") {
					t.Errorf("%s: %s %s has the setting %s, which Herald does not have", name, o.Kind, o.Metadata.Name,
						setting)
				}
			}
		}
	}
}

// settings are the names of environment variables that an object gives to pods.
func (o object) settings() (names []string) {
	for name := range o.Data {
		names = append(names, name)
	}
	for _, c := range o.Spec.Template.Spec.Containers {
		for _, e := range c.Env {
			names = append(names, e.Name)
		}
	}
	return names
}

// hasNoRights fails the test if a pod may more than run its program.
func (p pod) hasNoRights(t *testing.T, name string) {
	t.Helper()
	if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Errorf("%s has a token of Kubernetes", name)
	}
	if !p.SecurityContext.RunAsNonRoot || p.SecurityContext.SeccompProfile.Type != "RuntimeDefault" {
		t.Errorf("%s may run as root, or may make any system call", name)
	}
	for _, c := range p.Containers {
		s := c.SecurityContext
		if s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || !s.ReadOnlyRootFilesystem ||
			!slices.Equal(s.Capabilities.Drop, []string{"ALL"}) {
			t.Errorf("%s has rights: %+v", name, s)
		}
		if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" ||
			c.Resources.Limits["memory"] == "" {
			t.Errorf("%s has no resources", name)
		}
	}
}

// Pods reach only what they need: everybody NATS, services Postgres, the notifier a mail server, auth and idp the
// Internet. The policies select no pods of NATS and Postgres.
func TestNetworkPoliciesOfKubernetes(t *testing.T) {
	t.Parallel()
	const gateway, nats, postgres, smtp, https = "gateway", "nats", "postgres", "smtp", "https"
	for _, name := range overlays {
		all := overlay(t, name)
		policies := of(all, "NetworkPolicy")
		applied := func(labels map[string]string) (names []string) {
			for policy, o := range policies {
				if o.Spec.PodSelector.selects(labels) {
					names = append(names, policy)
				}
			}
			slices.Sort(names)
			return names
		}
		for _, o := range all {
			labels := o.Spec.Template.Metadata.Labels
			if labels == nil {
				continue
			}
			want := map[string][]string{
				"gateway": {gateway, "herald", nats}, "databases": {"herald", postgres},
				"notification": {"herald", nats, postgres, smtp}, "auth": {"herald", https, nats, postgres},
				"idp": {"herald", https, nats, postgres},
			}[o.Metadata.Name]
			if want == nil {
				want = []string{"herald", nats, postgres}
			}
			if got := applied(labels); !slices.Equal(got, want) {
				t.Errorf("%s: the policies of %s are %q, want %q", name, o.Metadata.Name, got, want)
			}
		}
		servers := map[string]map[string]string{
			nats:     {"app.kubernetes.io/name": "nats", "app.kubernetes.io/component": "nats"},
			postgres: {"cnpg.io/cluster": "herald-postgres"},
			"herald": {"k8s-app": "kube-dns"},
		}
		for policy, labels := range servers {
			if got := applied(labels); got != nil {
				t.Errorf("%s: the policies %q are also for the server of %s", name, got, policy)
			}
			if !policies[policy].Spec.Egress[0].To[0].PodSelector.selects(labels) {
				t.Errorf("%s: the policy %s does not let pods reach the server", name, policy)
			}
		}
	}
}
