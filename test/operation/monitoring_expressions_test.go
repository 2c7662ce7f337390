// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package operation

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	dashboardFile  = "../../deploy/monitoring/csi-proxy-dashboard.json"
	alertsFile     = "../../deploy/monitoring/csi-proxy-alerts.yaml"
	alertsTestFile = "../../deploy/monitoring/csi-proxy-alerts.test.yaml"
	docsFile       = "../../docs/metrics.md"
)

// dashboard is the part of Grafana's format that this test needs.
type dashboard struct {
	Panels []struct {
		ID      int
		Type    string
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct {
			Name  string
			Query any
		}
	}
}

func readFile(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	caller.OK(t, err)
	return content
}

// dashboardExpressions returns the expressions of the panels by title, with Grafana's variables filled in.
func dashboardExpressions(t *testing.T) map[string]string {
	t.Helper()
	var d dashboard
	caller.OK(t, json.Unmarshal(readFile(t, dashboardFile), &d))
	variables := strings.NewReplacer("$instance", ".*", "$__rate_interval", "5m")
	expressions, ids := map[string]string{}, map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] {
			t.Errorf("two panels have the id %d", p.ID)
		}
		ids[p.ID] = true
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("the panel %s shows nothing", p.Title)
		}
		for i, target := range p.Targets {
			expressions[fmt.Sprintf("panel %q, query %d", p.Title, i+1)] = variables.Replace(target.Expr)
		}
	}
	for _, v := range d.Templating.List {
		if query, ok := v.Query.(map[string]any); ok {
			expressions["variable "+v.Name] = strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(query["query"]), "label_values("),
				", instance)")
		}
	}
	return expressions
}

func alertExpressions(t *testing.T) map[string]string {
	t.Helper()
	var alerts struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	caller.OK(t, yaml.Unmarshal(readFile(t, alertsFile), &alerts))
	expressions := map[string]string{}
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			expressions["alert "+rule.Alert] = rule.Expr
		}
	}
	return expressions
}

// aNodeThatWorked returns a scrape of an agent that has been called, so that it has every metric.
func aNodeThatWorked(t *testing.T) page {
	t.Helper()
	w := startWatched(t)
	w.Formatted(1)
	w.scrape(t)
	return w.scrape(t)
}

// Every metric and label in the dashboard and the alerts is one of the agent's.
func TestExpressionsNameExistingMetrics(t *testing.T) {
	families := aNodeThatWorked(t).families()
	expressions := dashboardExpressions(t)
	maps.Copy(expressions, alertExpressions(t))
	if len(expressions) < 30 {
		t.Errorf("there are only %d expressions", len(expressions))
	}
	name := regexp.MustCompile(`\b(?:csi_proxy|grpc_server|go|process)_[a-z0-9_]+`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)"`)
	grouping := regexp.MustCompile(`\b(?:by|on) \(([^)]*)\)`)
	for where, expr := range expressions {
		allowed := map[string]bool{"instance": true, "job": true, "le": strings.Contains(expr, "_bucket")}
		used := name.FindAllString(grouping.ReplaceAllString(expr, ""), -1)
		if len(used) == 0 && !strings.HasPrefix(expr, "up{") {
			t.Errorf("%s: no metric of the agent in %s", where, expr)
		}
		for _, metric := range used {
			labels := families[metric]
			for _, suffix := range []string{"_bucket", "_count", "_sum"} {
				if labels == nil {
					labels = families[strings.TrimSuffix(metric, suffix)]
				}
			}
			if labels == nil {
				t.Errorf("%s: the agent has no metric %s", where, metric)
			}
			for label := range labels {
				allowed[label] = true
			}
		}
		var labels []string
		for _, match := range matcher.FindAllStringSubmatch(expr, -1) {
			labels = append(labels, match[1])
		}
		for _, match := range grouping.FindAllStringSubmatch(expr, -1) {
			labels = append(labels, strings.Split(match[1], ", ")...)
		}
		for _, label := range labels {
			if !allowed[label] {
				t.Errorf("%s: no metric there has the label %q", where, label)
			}
		}
	}
}

// An alert on a misspelt code would never fire.
func TestAlertsNameCodesThatThereAre(t *testing.T) {
	code := regexp.MustCompile(`\bERROR_[A-Z_]+`)
	found := 0
	for where, expr := range alertExpressions(t) {
		for _, name := range code.FindAllString(expr, -1) {
			found++
			if _, err := faults.ParseErrno(name); err != nil {
				t.Errorf("%s: %v", where, err)
			}
		}
	}
	if found == 0 {
		t.Error("no alert names a code")
	}
}

// The page for operators lists all of the agent's own metrics, with their types and labels, and no others.
func TestDocumentationListsTheMetrics(t *testing.T) {
	p := aNodeThatWorked(t)
	actual := map[string]string{}
	kinds := regexp.MustCompile(`(?m)^# TYPE ((?:csi_proxy|grpc_server)_\S+) (\S+)$`)
	families := p.families()
	for _, match := range kinds.FindAllStringSubmatch(string(p), -1) {
		labels := families[match[1]]
		delete(labels, "le")
		actual[match[1]] = match[2] + " " + strings.Join(slices.Sorted(maps.Keys(labels)), " ")
	}
	documented := map[string]string{}
	row := regexp.MustCompile("(?m)^\\| `((?:csi_proxy|grpc_server)_[a-z_]+)` \\| ([a-z]+) \\| ([^|]*?) ?\\|")
	for _, match := range row.FindAllStringSubmatch(string(readFile(t, docsFile)), -1) {
		labels := strings.Fields(strings.NewReplacer("`", "", ",", "").Replace(match[3]))
		slices.Sort(labels)
		documented[match[1]] = match[2] + " " + strings.Join(labels, " ")
	}
	for name, is := range actual {
		if documented[name] != is {
			t.Errorf("%s is a %s; the page says %q", name, is, documented[name])
		}
	}
	for name := range documented {
		if actual[name] == "" {
			t.Errorf("the page lists %s, which the agent does not have", name)
		}
	}
}

// Promtool parses every expression and runs the tests of the alerts. CSI_PROXY_PROMTOOL is the program's path; make
// check-monitoring gives it.
func TestPromtool(t *testing.T) {
	promtool := os.Getenv("CSI_PROXY_PROMTOOL")
	if promtool == "" {
		t.Skip("require promtool in CSI_PROXY_PROMTOOL; make check-monitoring runs this")
	}
	run := func(args ...string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), promtool, args...).CombinedOutput()
		t.Logf("promtool %s\n%s", strings.Join(args, " "), out)
		if err != nil {
			t.Error(err)
		}
	}
	run("check", "rules", alertsFile)
	run("test", "rules", alertsTestFile)

	// Promtool reads rules but not dashboards, so each expression is made a rule.
	type rule struct {
		Record string            `yaml:"record"`
		Expr   string            `yaml:"expr"`
		Labels map[string]string `yaml:"labels"`
	}
	var rules []rule
	for where, expr := range dashboardExpressions(t) {
		rules = append(rules, rule{"expression", expr, map[string]string{"where": where}})
	}
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": rules}}})
	caller.OK(t, err)
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	caller.OK(t, os.WriteFile(path, file, 0o600))
	run("check", "rules", path)
}

// Every alert is tested to fire and to be silent.
func TestEveryAlertHasATest(t *testing.T) {
	var tests struct {
		Tests []struct {
			AlertRuleTest []struct {
				Alertname string
				ExpAlerts []any `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	caller.OK(t, yaml.Unmarshal(readFile(t, alertsTestFile), &tests))
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, alert := range test.AlertRuleTest {
			if len(alert.ExpAlerts) > 0 {
				fires["alert "+alert.Alertname] = true
			} else {
				silent["alert "+alert.Alertname] = true
			}
		}
	}
	for alert := range alertExpressions(t) {
		if !fires[alert] || !silent[alert] {
			t.Errorf("%s: tested to fire: %t, to be silent: %t", alert, fires[alert], silent[alert])
		}
	}
}

// families returns the names of the metrics on the page, with their labels.
func (p page) families() map[string]map[string]bool {
	families := map[string]map[string]bool{}
	for line := range strings.Lines(string(p)) {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			families[strings.Fields(name)[0]] = map[string]bool{}
		}
	}
	label := regexp.MustCompile(`[{,]([a-z_]+)="`)
	for line := range strings.Lines(string(p)) {
		name, _, _ := strings.Cut(line, "{")
		for _, suffix := range []string{"", "_bucket", "_count", "_sum"} {
			if labels := families[strings.TrimSuffix(name, suffix)]; labels != nil {
				for _, match := range label.FindAllStringSubmatch(line, -1) {
					labels[match[1]] = true
				}
			}
		}
	}
	return families
}
