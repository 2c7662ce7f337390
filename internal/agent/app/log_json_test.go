// SPDX-License-Identifier: Apache-2.0

package app

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"
)

// secret has a text without what it holds, like the credentials of requests.
type secret struct{ Password string }

func (secret) String() string { return "[redacted]" }

// TestJSONLog: each line is an object with Kubernetes' keys; a value is what it is in text.
func TestJSONLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "agent.log")
	l, err := readLogFlags(t, "-logging-format=json", "-logtostderr=false", "-log_file="+path, "-v=2")
	if err != nil {
		t.Fatal(err)
	}
	closeLog, err := l.Open()
	if err != nil {
		t.Fatal(err)
	}
	log := klog.Background()
	log.V(2).Info("a fact", "as", secret{"hunter2"}, "took", time.Second, "disks", 3, "dirs", []string{"a"}, "text", "a \"quote\"\n")
	log.V(4).Info("too much")
	klog.Warning("old style")
	log.Error(errors.New("broken"), "a failure")
	closeLog()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []map[string]any
	for line := range strings.Lines(string(content)) {
		object := map[string]any{}
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if at, _ := object["ts"].(float64); time.Since(time.UnixMilli(int64(at))).Abs() > time.Hour ||
			!regexp.MustCompile(`^log_json_test\.go:\d+$`).MatchString(object["caller"].(string)) {
			t.Errorf("time and place of %s", line)
		}
		delete(object, "ts")
		delete(object, "caller")
		got = append(got, object)
	}
	want := []map[string]any{
		{"v": 2.0, "msg": "a fact", "as": "[redacted]", "took": "1s", "disks": 3.0, "dirs": []any{"a"}, "text": "a \"quote\"\n"},
		{"v": 0.0, "msg": "old style"},
		{"msg": "a failure", "err": "broken"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, bad := range []string{"-logging-format=xml", "-logging-format=json -logtostderr=false -log_file= -log_dir=" + t.TempDir()} {
		if _, err := readLogFlags(t, strings.Fields(bad)...); err == nil {
			t.Errorf("%s is accepted", bad)
		}
	}
}
