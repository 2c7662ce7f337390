// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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

// textDoubts returns the doubts that the documents tell, by a part of the sentence.
func textDoubts() map[string]settlement {
	const everything, notWindows = "every call that a question makes on a machine proves some of it",
		"it is not about Windows"
	return map[string]settlement{
		"What a real container shows was not seen":                                     by(21),
		"gives 50 when encryption is asked for, which is not confirmed":                by(41),
		"which one comes when is not confirmed":                                        by(18, 19, 23, 26),
		"(growing fails; not confirmed)":                                               by(42),
		"Not confirmed on the clouds' machines are the order of the two identifier":    by(2),
		"EBS disks have no page 83 here, because theirs is not known":                  by(2),
		"Not tried on Windows: the move on NTFS itself, and whether the mount manager": by(38),
		"Only the handful of lines that hand a buffer to a system call stays unproved": {why: everything},
		"what a new volume's list allows Users is not confirmed":                       {why: "an access list on a volume is shown by icacls; no call of the API depends on it"},
		"another error says that the state of the volume is not known":                 {why: notWindows},
		"is read so slowly that it was not seen to be blank":                           {why: notWindows},
	}
}

var doubtful = regexp.MustCompile(
	`(?i)not confirmed|not tried on windows|was not seen|not proved|unproved|is not known`)

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

// Every doubt of the emulated node's switches and of the documents has a question, and no question has another one's
// number. A new doubt belongs into a table above, and its question into this package.
func TestEveryDoubtHasAQuestion(t *testing.T) {
	all := asked(t)
	if once := slices.Compact(slices.Clone(all)); len(once) != len(all) {
		t.Errorf("a number is taken twice: %v", all)
	}
	for n := 1; n <= 31; n++ { // the first ones came with the design
		if !slices.Contains(all, n) {
			t.Errorf("there is no question R%d", n)
		}
	}
	for _, q := range Questions() {
		if !slices.Contains(all, q.Number) {
			t.Errorf("R%d was not found in the source", q.Number)
		}
	}
	settled := func(doubt string, s settlement) {
		t.Helper()
		if (len(s.questions) == 0) == (s.why == "") {
			t.Errorf("%s: it has neither questions nor a reason, or both", doubt)
		}
		for _, n := range s.questions {
			if !slices.Contains(all, n) {
				t.Errorf("%s: there is no question R%d", doubt, n)
			}
		}
	}
	switches, known := reflect.TypeFor[emulated.Switches](), switchDoubts()
	for i := range switches.NumField() {
		name := switches.Field(i).Name
		settled("the switch "+name, known[name])
		delete(known, name)
	}
	for name := range known {
		t.Errorf("there is no switch %s any more", name)
	}
	if testnode.OnWine() {
		return // which has only this package
	}
	seen, doubts := map[string]bool{}, textDoubts()
	for doubt, s := range doubts {
		settled(doubt, s)
	}
	err := filepath.WalkDir(filepath.Join("..", "..", "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text := strings.Join(strings.Fields(string(content)), " ")
		for _, at := range doubtful.FindAllStringIndex(text, -1) {
			around := text[max(0, at[0]-100):min(len(text), at[1]+100)]
			explained := false
			for doubt := range doubts {
				if strings.Contains(around, doubt) {
					explained, seen[doubt] = true, true
				}
			}
			if !explained {
				t.Errorf("%s: a doubt that no question settles: …%s…", path, around)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for doubt := range doubts {
		if !seen[doubt] {
			t.Errorf("no document says any more: %s", doubt)
		}
	}
}
