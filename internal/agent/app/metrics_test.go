// SPDX-License-Identifier: Apache-2.0

package app

import (
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
)

func TestListenMetrics(t *testing.T) {
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	if l, err := listenMetrics("", logger); l != nil || err != nil {
		t.Errorf("off: got %v, %v", l, err)
	}
	local, err := listenMetrics("127.0.0.1:0", logger)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if _, err := listenMetrics(local.Addr().String(), logger); err == nil ||
		!strings.Contains(err.Error(), "-metrics-bind-address="+local.Addr().String()) {
		t.Errorf("a port that is taken: got %v", err)
	}
	for _, line := range lines {
		if strings.Contains(line, "loopback") {
			t.Errorf("there is a warning about a loopback address: %s", line)
		}
	}
	open, err := listenMetrics(":0", logger)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if last := lines[len(lines)-1]; !strings.Contains(last, "prefer a loopback address") ||
		!strings.Contains(last, open.Addr().String()) {
		t.Errorf("anybody can reach the metrics, and the log only says %q", lines)
	}
}

func TestMetricsAddress(t *testing.T) {
	for address, ok := range map[string]bool{
		"": true, "127.0.0.1:9190": true, "[::1]:0": true, ":9190": true, "localhost:9190": true,
		"9190": false, "127.0.0.1": false, "127.0.0.1:": false, "127.0.0.1:http": false,
		"127.0.0.1:65536": false, "::1:9190": false,
	} {
		if err := checkMetricsAddress(address); (err == nil) != ok {
			t.Errorf("%q: got %v", address, err)
		}
	}
}
