// SPDX-License-Identifier: Apache-2.0

package kernel_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
)

func TestSecretShowsNowhere(t *testing.T) {
	const text = "hunter2"
	secret := kernel.Secret(text)
	holder := struct {
		User     string
		Password kernel.Secret
	}{"csi", secret}
	var shown strings.Builder
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%o", "%b", "%c", "%U", "%T"} {
		fmt.Fprintf(&shown, verb+"\n", secret)
		fmt.Fprintf(&shown, verb+"\n", holder)
		fmt.Fprintf(&shown, verb+"\n", &holder)
	}
	fmt.Fprintln(&shown, secret, holder, fmt.Errorf("failed: %v", secret))
	encoded, err := json.Marshal(map[string]any{"a": secret, "b": holder, "c": map[string]kernel.Secret{"d": secret}})
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(encoded)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", secret, "holder", holder)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", secret, "holder", holder)
	shown.Write(log.Bytes())
	fmt.Fprint(&shown, secret.MarshalLog())

	for _, form := range []string{text, fmt.Sprintf("%x", text), fmt.Sprintf("%X", text), fmt.Sprintf("% x", text),
		"104 117", "aHVudGVyMg"} {
		if strings.Contains(shown.String(), form) {
			t.Errorf("the secret shows as %q in:\n%s", form, shown.String())
		}
	}
}
