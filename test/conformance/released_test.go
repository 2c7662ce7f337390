// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	released "github.com/kubernetes-csi/csi-proxy/client/api"
)

// TestReleased counts the methods of the whole API, asserts that a group is served in all of its versions or in none,
// and lists what is not served.
func TestReleased(t *testing.T) {
	all := listed(t, emulatedSite(t))
	files, err := released.Descriptors()
	noError(t, err)
	methods, missing := 0, 0
	files.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			s := f.Services().Get(i)
			methods += s.Methods().Len()
			at := served{strings.ToLower(string(s.Name())), string(f.Package())}
			if slices.Contains(all, at) {
				continue
			}
			missing += s.Methods().Len()
			t.Logf("%s %s is not served: %d methods", at.group, at.version, s.Methods().Len())
			if slices.ContainsFunc(all, func(other served) bool { return other.group == at.group }) {
				t.Errorf("%s is served, and not in version %s", at.group, at.version)
			}
		}
		return true
	})
	const total = 139
	if methods != total {
		t.Errorf("%d methods are released, want %d", methods, total)
	}
	t.Logf("%d of %d released methods are served", methods-missing, methods)
}
