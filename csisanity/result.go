// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// A Result is what became of the specs of one suite.
type Result struct {
	Suite          string
	Passed, Failed int
	Skipped        map[string]int // by reason
	Failures       []string       // the specs that failed, with their messages
}

// String returns the counts as lines, and then the failures.
func (r Result) String() string {
	skipped := 0
	var reasons strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		skipped += r.Skipped[reason]
		fmt.Fprintf(&reasons, "\n%4d skipped: %s", r.Skipped[reason], reason)
	}
	return fmt.Sprintf("csi-sanity, %s: %d specs: %d passed, %d failed, %d skipped%s%s",
		r.Suite, r.Passed+r.Failed+skipped, r.Passed, r.Failed, skipped, reasons.String(), strings.Join(r.Failures, ""))
}

// resultOf counts the specs of the suite with a name.
func resultOf(name string, report ginkgo.Report) Result {
	result := Result{Suite: name, Skipped: map[string]int{}}
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt || spec.ContainerHierarchyTexts[0] != name {
			continue
		}
		switch spec.State {
		case types.SpecStatePassed:
			result.Passed++
		case types.SpecStateSkipped:
			result.Skipped[cmp.Or(spec.Failure.Message, "not asked for: -ginkgo.focus or -ginkgo.skip")]++
		case types.SpecStatePending:
			result.Skipped["switched off in csi-sanity"]++
		default:
			result.Failed++
			result.Failures = append(result.Failures, "\n     failed: "+spec.FullText()+": "+spec.Failure.Message)
		}
	}
	return result
}
