// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"regexp"
	"strings"
)

// names pairs what is named by chance on the recorded machine with what stands for it on the emulated node: volumes,
// devices, disk numbers, file ids. A pair is made once and holds from then on, so names are free and identity is not.
type names struct {
	to   map[string]string // by the recorded name in lower case
	from map[string]string // by the node's in lower case
}

func newNames() *names { return &names{map[string]string{}, map[string]string{}} }

// pair pairs two names, and reports whether they are a pair.
func (n *names) pair(recorded, emulated string) bool {
	recorded = strings.ToLower(recorded)
	to, known := n.to[recorded]
	from, taken := n.from[strings.ToLower(emulated)]
	if known || taken {
		return known && taken && strings.EqualFold(to, emulated) && from == recorded
	}
	n.to[recorded], n.from[strings.ToLower(emulated)] = emulated, recorded
	return true
}

// forget ends a pair: what it names is gone, and another may get the name.
func (n *names) forget(recorded string) {
	recorded = strings.ToLower(recorded)
	delete(n.from, strings.ToLower(n.to[recorded]))
	delete(n.to, recorded)
}

// The names in texts, without what stands around them.
var (
	volumeIn = regexp.MustCompile(`(?i)volume\{[0-9a-f-]{36}\}`)
	driveIn  = regexp.MustCompile(`(?i)physicaldrive[0-9]+`)
	deviceIn = regexp.MustCompile(`(?i)\\device\\harddiskvolume[0-9]+`)
)

func allNames() []*regexp.Regexp { return []*regexp.Regexp{volumeIn, driveIn, deviceIn} }

// translate puts the emulated names into a recorded text.
func (n *names) translate(text string) string {
	if to, ok := n.to[strings.ToLower(text)]; ok {
		return to
	}
	for _, e := range allNames() {
		text = e.ReplaceAllStringFunc(text, func(name string) string {
			if to, ok := n.to[strings.ToLower(name)]; ok {
				return to
			}
			return name
		})
	}
	return text
}

// sameText reports whether a text of the node is the recorded one, after names in it that nobody knew were paired.
func (n *names) sameText(recorded, emulated string) bool {
	for _, e := range allNames() {
		theirs, ours := e.FindString(recorded), e.FindString(emulated)
		if theirs != "" && ours != "" {
			n.pair(theirs, ours)
		}
	}
	return strings.EqualFold(n.translate(recorded), emulated)
}

// unknownVolume returns a volume in a text that stands for none of the node's.
func (n *names) unknownVolume(text string) (name string, unknown bool) {
	name = strings.ToLower(volumeIn.FindString(text))
	_, known := n.to[name]
	return name, name != "" && !known
}
