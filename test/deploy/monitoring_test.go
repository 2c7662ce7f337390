// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// A packaged chart cannot read outside its folder, so it has copies.
func TestChartHasTheRulesAndTheDashboard(t *testing.T) {
	for _, file := range []string{"csi-proxy-alerts.yaml", "csi-proxy-dashboard.json"} {
		if diff := cmp.Diff(string(read(t, "deploy/monitoring/"+file)),
			string(read(t, "charts/csi-proxy/files/"+file))); diff != "" {
			t.Errorf("deploy/monitoring/%[1]s - charts/csi-proxy/files/%[1]s +:\n%[2]s\nRun make chart-files.", file, diff)
		}
	}
}

// The rendered content is the file's: its own braces are for Prometheus and Grafana, not for the chart.
func TestChartHandsRulesAndDashboardOnAsTheyAre(t *testing.T) {
	objects := decode(t, template(t, required, "--set", "metrics.rules.enabled=true,metrics.dashboard.enabled=true"))
	var file monitoringv1.PrometheusRuleSpec
	ok(t, yaml.UnmarshalStrict(read(t, "charts/csi-proxy/files/csi-proxy-alerts.yaml"), &file))
	if len(file.Groups) == 0 {
		t.Error("no alert rules")
	}
	if diff := cmp.Diff(file, only[*monitoringv1.PrometheusRule](t, objects).Spec); diff != "" {
		t.Errorf("rules, file - chart +:\n%s", diff)
	}
	want := string(read(t, "charts/csi-proxy/files/csi-proxy-dashboard.json"))
	if diff := cmp.Diff(want, only[*corev1.ConfigMap](t, objects).Data["csi-proxy-dashboard.json"]+"\n"); diff != "" {
		t.Errorf("dashboard, file - chart +:\n%s", diff)
	}
}
