// SPDX-License-Identifier: Apache-2.0

package powercut

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
)

// Loss is what a power cut takes of what is not durable.
type Loss struct {
	kept  func() bool // for one thing: a name, a sector
	label string
}

// Losses returns all and nothing, and random mixes that begin with a seed.
func Losses(seed uint64, mixes int) []Loss {
	all := []Loss{
		{func() bool { return false }, "nothing unsynced is left"},
		{func() bool { return true }, "everything is left"},
	}
	for i := range mixes {
		random := rand.New(rand.NewPCG(seed, uint64(i))) //nolint:gosec // it has to be repeatable
		all = append(all, Loss{func() bool { return random.IntN(2) == 0 },
			fmt.Sprintf("a mix is left, seed %d, number %d", seed, i)})
	}
	return all
}

func (l Loss) String() string { return l.label }

// Cut cuts the power and calls look while the directory is what the disk holds then. Afterwards the directory is as
// before, and files that are open in it stay usable. It must not be used during the call.
func (d *Disk) Cut(loss Loss, inspect func()) {
	d.noteDurable()
	live := d.dir + ".live"
	d.check(os.Rename(d.dir, live))
	d.loseWrites(loss, live, d.dir)
	d.looking = true
	inspect()
	d.looking = false
	d.check(os.RemoveAll(d.dir))
	d.check(os.Rename(live, d.dir))
}

// Leave makes another directory with what a power cut leaves of this one.
func (d *Disk) Leave(loss Loss, to string) {
	d.noteDurable()
	d.loseWrites(loss, d.dir, to)
}

// tree is a choice of names: of the durable ones, and of those that are there now.
type tree struct {
	loss   Loss
	paths  map[file]string           // of everything that is there now
	now    map[file]map[string]entry // in directories
	moves  map[file]bool             // of files whose place is not durable: whether they are at the new one
	placed map[file]bool
}

func (d *Disk) loseWrites(loss Loss, from, to string) {
	top, _ := d.identify(from)
	t := &tree{loss: loss, paths: map[file]string{}, now: map[file]map[string]entry{}, moves: map[file]bool{},
		placed: map[file]bool{}}
	d.survey(t, top, from)
	d.restore(t, top, to)
}

func (d *Disk) survey(t *tree, dir entry, path string) {
	t.paths[dir.file] = path
	t.now[dir.file] = d.list(path)
	for name, e := range t.now[dir.file] {
		if e.kind.IsDir() {
			d.survey(t, e, filepath.Join(path, name))
		} else {
			t.paths[e.file] = filepath.Join(path, name)
		}
	}
}

func (d *Disk) restore(t *tree, dir entry, to string) {
	d.check(os.Mkdir(to, 0o700))
	durable, now, all := d.names[dir.file], t.now[dir.file], map[string]entry{}
	maps.Copy(all, durable)
	maps.Copy(all, now)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, ok := t.choose(durable, now, name)
		if !ok || t.placed[e.file] {
			continue
		}
		t.placed[e.file] = true
		path := filepath.Join(to, name)
		switch {
		case e.kind.IsDir():
			d.restore(t, e, path)
		case e.kind.IsRegular():
			d.write(path, d.survives(t, e))
		}
	}
}

// choose returns what has a name after the cut, if anything.
func (t *tree) choose(durable, now map[string]entry, name string) (entry, bool) {
	was, wasThere := durable[name]
	is, isThere := now[name]
	switch {
	case wasThere && isThere && was.file == is.file:
		return is, true
	case isThere && t.moved(is): // over what was there
		return is, true
	case wasThere && isThere: // what took the name did not come; the old one leaves only for another place
		_, elsewhere := t.paths[was.file]
		return was, !elsewhere || !t.moved(was)
	case wasThere:
		return was, !t.moved(was)
	}
	return entry{}, false
}

// moved decides, once, whether a file is at its new place, or gone.
func (t *tree) moved(e entry) bool {
	moved, known := t.moves[e.file]
	if !known {
		moved = t.loss.kept()
		t.moves[e.file] = moved
	}
	return moved
}

// survives returns the content of a file after the cut.
func (d *Disk) survives(t *tree, e entry) *content {
	durable := d.contents[e.file]
	if durable == nil {
		durable = none()
	}
	path, there := t.paths[e.file]
	if !there { // it was removed
		return durable
	}
	now := d.read(path)
	left := &content{size: durable.size, mode: durable.mode, changed: durable.changed, pages: map[int64][]byte{}}
	if now.size != durable.size && t.loss.kept() {
		left.size = now.size
	}
	if (now.mode != durable.mode || !now.changed.Equal(durable.changed)) && t.loss.kept() {
		left.mode, left.changed = now.mode, now.changed
	}
	maps.Copy(left.pages, durable.pages)
	maps.Copy(left.pages, now.pages)
	for _, offset := range slices.Sorted(maps.Keys(left.pages)) {
		left.pages[offset] = d.torn(t.loss, durable.at(offset), now.at(offset))
	}
	return left
}

// torn returns a page in which each sector that changed is old or new.
func (d *Disk) torn(loss Loss, old, now []byte) []byte {
	left := slices.Clone(old)
	for at := 0; at < page; at += sector {
		if !bytes.Equal(old[at:at+sector], now[at:at+sector]) && loss.kept() {
			copy(left[at:], now[at:at+sector])
		}
	}
	return left
}
