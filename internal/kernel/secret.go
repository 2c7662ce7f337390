// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"io"
	"log/slog"
)

// redacted is what is shown for every Secret, an empty one too: even its length is nobody's business.
const redacted = "[redacted]"

// Secret is a password or another shared secret. However it is printed, logged or encoded, it shows as [redacted]; only
// in an unexported field of a printed struct it could not hide, so it is never kept in one that is printed. The
// zero value is the empty secret.
type Secret []byte

// Wipe overwrites the secret with zeros. Copies that were made of it stay.
func (s Secret) Wipe() { clear(s) }

// String hides the secret.
func (Secret) String() string { return redacted }

// GoString hides the secret.
func (Secret) GoString() string { return redacted }

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
