// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/json"
)

// expandTemplate fills in one of kubectl's templates with a value in JSON. One without braces is an expression. With
// lenient, what is not there is left out.
func expandTemplate(template string, text []byte, lenient bool) ([]byte, error) {
	if !strings.Contains(template, "{") {
		template = "{" + template + "}"
	}
	// A template with a range can be filled in only once.
	filled := jsonpath.New("template").AllowMissingKeys(lenient)
	if err := filled.Parse(template); err != nil {
		return nil, fmt.Errorf("jsonpath %q: %w", template, err)
	}
	if text == nil { // only to check the template
		return nil, nil
	}
	var value any
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &value); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err := filled.Execute(&out, value)
	return out.Bytes(), err
}
