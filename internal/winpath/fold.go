// SPDX-License-Identifier: Apache-2.0

package winpath

import "github.com/kubernetes-csi/csi-proxy/client/fold"

// Fold is fold.Name. A path of which NTFS folds a letter that Fold does not is refused, never let through.
func Fold(name string) string { return fold.Name(name) }
