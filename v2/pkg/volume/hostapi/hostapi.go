// SPDX-License-Identifier: Apache-2.0

package api

import "regexp"

// VolumeRegexp finds the name of a volume in a text.
var VolumeRegexp = regexp.MustCompile(`Volume\{[\w-]*\}`)
