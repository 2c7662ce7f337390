// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"time"
)

// lifeTables are the volume lifecycles: whole, and step by step.
func (r *results) lifeTables(b *strings.Builder) {
	steps := (&life{}).steps()
	fmt.Fprintf(b, `
## A volume's life

%d calls, from a raw disk to the disk that is offline again, while the other disks are there; each volume with its own
connections. Most calls change the emulated node, which writes its state and the disk's image through to the host's
disk at each change, so these figures are mostly those of the emulated node and of the host's disk: they show how the
agent's work grows with disks and callers, not what a life costs on Windows.

| volumes at once | data disks | life ÷ as many echoes | median of a life | p99 | as many echoes |
|--:|--:|--:|--:|--:|--:|
`, len(steps))
	disks := []int{r.options.few, r.options.many}
	for _, t := range r.lives {
		whole, echoes := quantile(t.whole, .5), quantile(t.echoes, .5)
		fmt.Fprintf(b, "| %d | %d | %.0f | %s | %s | %s |\n", t.callers, disks[t.node], whole/echoes,
			micros(time.Duration(whole)), micros(time.Duration(quantile(t.whole, .99))), micros(time.Duration(echoes)))
	}
	b.WriteString("\nThe median of each step:\n\n| step |")
	for _, t := range r.lives {
		fmt.Fprintf(b, " %d at once, %d disks |", t.callers, disks[t.node])
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(r.lives)) + "\n")
	for i, s := range steps {
		fmt.Fprintf(b, "| %s |", s.name)
		for _, t := range r.lives {
			fmt.Fprintf(b, " %s |", micros(t.step(i)))
		}
		b.WriteString("\n")
	}
}
