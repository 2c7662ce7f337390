// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// A settlement is how a doubt about Windows is settled on a machine: by the answers to questions, or why no question
// can.
type settlement struct {
	questions []int
	why       string
}

func by(questions ...int) settlement { return settlement{questions: questions} }

// switchDoubts returns the doubts that the emulated node's switches stand for, by their field.
func switchDoubts() map[string]settlement {
	return map[string]settlement{
		"AttributesVersion":      by(3),
		"CreateDiskClears":       by(4),
		"OfflineDisksReadOnly":   by(4),
		"ClonesNeedWritable":     {why: "the kit copies no disk"},
		"DetachNeedsOffline":     {why: "it is a setting of the cloud"},
		"ZeroedDiskIsMBR":        by(5),
		"MSR":                    by(6),
		"GrowPartitionRefreshes": by(12),
		"VolumesArriveLate":      by(31, 45),
		"AutomountOff":           by(30),
		"DisksInstallLate":       by(8),
		"ExtendOneSectorLess":    by(25),
		"LacksPrivileges":        by(27, 42),
		"MountPointCallsDelete":  by(29, 50),
		"MappingsOutliveReboot":  by(39),
		"EmptyRootNotFound":      by(11),
		"Timing":                 {why: "durations are measured, not asked"},
	}
}

// asked returns the numbers of all questions, those of other systems included.
func asked(t *testing.T) (numbers []int) {
	t.Helper()
	files, err := filepath.Glob("*_questions*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("require the source of this package")
	}
	line := regexp.MustCompile("(?m)^\t\t(?:\\{|unasked\\()(\\d+), [\"`]")
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range line.FindAllSubmatch(source, -1) {
			number, err := strconv.Atoi(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// Every doubt that a switch of the emulated node stands for has a question, and no question has another one's number. A
// new switch belongs into the table above, and its question into this package.
func TestEveryDoubtHasAQuestion(t *testing.T) {
	all := asked(t)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		t.Errorf("a number is taken twice: %v", all)
	}
	for _, q := range Questions() {
		if !slices.Contains(all, q.Number) {
			t.Errorf("R%d was not found in the source", q.Number)
		}
	}
	switches, known := reflect.TypeFor[scenario.Switches](), switchDoubts()
	for i := range switches.NumField() {
		name := switches.Field(i).Name
		doubt := known[name]
		if (len(doubt.questions) == 0) == (doubt.why == "") {
			t.Errorf("the switch %s has neither questions nor a reason, or both", name)
		}
		for _, n := range doubt.questions {
			if !slices.Contains(all, n) {
				t.Errorf("the switch %s: there is no question R%d", name, n)
			}
		}
		delete(known, name)
	}
	for name := range known {
		t.Errorf("there is no switch %s any more", name)
	}
}
