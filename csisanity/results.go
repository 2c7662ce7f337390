// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// A Result is what became of the specs of one suite.
type Result struct {
	Suite          string
	Passed, Failed int
	Skipped        map[string]int // by reason
	Failures       []string       // the specs that failed, each with its message, as a line
}

// String returns the counts as lines.
func (r Result) String() string {
	skipped := 0
	var reasons strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(r.Skipped)) {
		skipped += r.Skipped[reason]
		fmt.Fprintf(&reasons, "\n%4d skipped: %s", r.Skipped[reason], reason)
	}
	return fmt.Sprintf("csi-sanity, %s: %d specs: %d passed, %d failed, %d skipped%s",
		r.Suite, r.Passed+r.Failed+skipped, r.Passed, r.Failed, skipped, reasons.String())
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
			result.Failures = append(result.Failures, spec.FullText()+": "+line(spec.Failure.Message))
		}
	}
	return result
}

// inShort is how gomega prints a value in a failure, instead of a struct's fields. It prints the text of an error
// itself.
func inShort(value any) (text string, handled bool) {
	switch v := value.(type) {
	case error:
		return "", true
	case []error:
		return errors.Join(v...).Error(), true
	case codes.Code:
		return v.String(), true
	case proto.Message:
		return fmt.Sprint(v), true
	}
	return "", false
}

// typeAndAddress is what gomega prints before a value.
var typeAndAddress = regexp.MustCompile(`<[^<>\n]+>: `)

// line returns a failure's message as a line.
func line(message string) string {
	message = strings.ReplaceAll(typeAndAddress.ReplaceAllString(message, ""), "\nExpected", "; expected")
	return strings.Join(strings.Fields(message), " ")
}
