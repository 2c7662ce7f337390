// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ScenarioError says what is wrong in a scenario file, and where. It never has a value of the file that is secret.
type ScenarioError struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
}

func (e *ScenarioError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// maxScenarioBytes is far more than a node of the greatest size needs.
const maxScenarioBytes = 1 << 20

// LoadScenario reads the profile of a name, or else the scenario file of a path: a file that is called like a profile
// is found as ./NAME. Errors: *ScenarioError, or of the host.
func LoadScenario(nameOrPath string) (Scenario, error) {
	if slices.Contains(Profiles(), nameOrPath) {
		return profile(nameOrPath)
	}
	file, err := os.Open(nameOrPath)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(nameOrPath, `./\`) {
		return Scenario{}, fmt.Errorf("there is no profile and no file %q; the profiles are %s", nameOrPath, strings.Join(Profiles(), ", "))
	}
	if err != nil {
		return Scenario{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxScenarioBytes+1))
	if err != nil {
		return Scenario{}, err
	}
	return ParseScenario(nameOrPath, text)
}

// ParseScenario reads the text of a scenario file; the name is for errors, which are *ScenarioError. What the text
// leaves out is as in DefaultScenario.
func ParseScenario(name string, text []byte) (Scenario, error) {
	fail := func(line int, problem string) (Scenario, error) {
		return Scenario{}, &ScenarioError{File: name, Line: line, Problem: problem}
	}
	if len(text) > maxScenarioBytes {
		return fail(0, fmt.Sprintf("it has more than %d bytes", maxScenarioBytes))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return fail(0, "it is empty")
	case err != nil:
		return fail(syntaxProblem(err))
	}
	if err := decoder.Decode(&second); err == nil {
		return fail(second.Line, "a second document begins; a scenario is one")
	} else if !errors.Is(err, io.EOF) {
		return fail(syntaxProblem(err))
	}
	s := DefaultScenario()
	err := scenarioKeys().read(value{file: name, node: document.Content[0]}, &s)
	return s, err
}

// syntaxProblem is the line and the text of what the YAML parser says. It is repeated only when it has nothing of the
// file: a password without its quotes can be an alias by mistake, whose name the parser gives.
func syntaxProblem(err error) (line int, problem string) {
	found := regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`).FindStringSubmatch(err.Error())
	if found == nil {
		return 0, "it is not YAML"
	}
	line, _ = strconv.Atoi(found[1]) // 0 when there is none
	if expected, ok := strings.CutPrefix(found[2], "did not find expected "); ok {
		// These come from the grammar, which counts lines from 0; the others come from the scanner and count from 1.
		if slices.Contains([]string{"key", "node content", "'-' indicator", "',' or ']'", "',' or '}'", "<document start>"}, expected) {
			line++
		}
		return line, found[2]
	}
	return line, "it is not YAML; a text that begins with a special character needs quotes"
}
