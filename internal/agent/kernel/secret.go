// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is shown for every Secret, also an empty one, so that not even the length shows.
const redacted = "[redacted]"

// Secret is a password or another shared secret. However it is printed, logged or encoded, it shows as [redacted], but
// not in an unexported field of a printed struct, so no printed struct has such a field.
type Secret []byte

// String hides the secret.
func (Secret) String() string { return redacted }

// Format hides the secret whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// MarshalJSON hides the secret.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText hides the secret.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue hides the secret.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalLog hides the secret from logr, and so from klog.
func (Secret) MarshalLog() any { return redacted }
