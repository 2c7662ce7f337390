// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"

	"k8s.io/klog/v2"
)

// logJSON makes klog write a JSON object for each line, with the keys of -logging-format=json elsewhere in Kubernetes:
// ts in milliseconds, caller, msg, v for what is no error, err, and the line's own.
// https://kubernetes.io/docs/concepts/cluster-administration/system-logs/
func (l *LogFlags) logJSON(to io.Writer) {
	klog.SetSlogLogger(slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{
		AddSource: true, Level: slog.Level(-l.verbosity), ReplaceAttr: kubernetesKeys,
	})))
}

func kubernetesKeys(groups []string, a slog.Attr) slog.Attr {
	if value := a.Value.Any(); a.Value.Kind() == slog.KindAny {
		switch value := value.(type) {
		case *slog.Source:
			return slog.String("caller", fmt.Sprintf("%s:%d", filepath.Base(value.File), value.Line))
		case slog.Level:
			if value > 0 {
				return slog.Attr{}
			}
			return slog.Int("v", int(-value))
		case []string:
			return a
		}
		return slog.String(a.Key, fmt.Sprintf("%+v", value)) // as text has it: a type's String omits its secrets
	}
	if a.Key == slog.TimeKey && len(groups) == 0 && a.Value.Kind() == slog.KindTime {
		return slog.Float64("ts", float64(a.Value.Time().UnixMicro())/1000)
	}
	if a.Value.Kind() == slog.KindDuration {
		return slog.String(a.Key, a.Value.Duration().String())
	}
	return a
}
