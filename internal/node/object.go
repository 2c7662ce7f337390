// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// object is something that operations work on, and that can hang or be locked by itself.
type object struct {
	kind kind
	name string // as people read it
	fold string // the same for all spellings; "": that is name
}

// kind is what an object is. The kinds stand in the order in which one operation takes their locks; within a kind, locks
// are taken in the order of their keys. No other order exists, so no two operations wait for each other.
type kind int

const (
	wholeNode kind = iota
	deviceTree
	initiator
	portalKind
	targetKind
	pathKind
	shareKind
	shareContact
	mappingList
	volumeKind
	diskKind
	diskInterface
	serviceKind
)

// The objects of which there is one.
var (
	devices        = object{kind: deviceTree, name: "devices"}
	iscsiInitiator = object{kind: initiator, name: "iSCSI initiator"}
	smbMappings    = object{kind: mappingList, name: "SMB mappings"}
)

func diskObject(number uint32) object {
	return object{kind: diskKind, name: "disk " + strconv.FormatUint(uint64(number), 10)}
}

// interfaceObject is a disk whose number is not known yet.
func interfaceObject(path string) object { return object{kind: diskInterface, name: path} }

func volumeObject(id winpath.VolumeID) object { return object{kind: volumeKind, name: id.String()} }

func pathObject(p winpath.Path) object {
	return object{kind: pathKind, name: p.String(), fold: p.Key()}
}

func shareObject(key string) object { return object{kind: shareKind, name: key} }

// contactObject is a directory on a share whose server is asked whether it is there.
func contactObject(path string) object {
	return object{kind: shareContact, name: path, fold: winpath.Fold(path)}
}

func targetObject(name targetName) object { return object{kind: targetKind, name: string(name)} }

func portalObject(p portal) object {
	return object{kind: portalKind, name: p.String(), fold: p.key()}
}

func serviceObject(name string) object {
	return object{kind: serviceKind, name: name, fold: winpath.Fold(name)}
}

func (x object) String() string { return x.name }

// key is the same for all names of one object, and different from those of objects of other kinds.
func (x object) key() string { return strconv.Itoa(int(x.kind)) + " " + cmp.Or(x.fold, x.name) }

// inLockOrder are the keys of objects, each once, in the order in which their locks are taken.
func inLockOrder(objects []object) []string {
	sorted := slices.SortedFunc(slices.Values(objects), func(a, b object) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.key(), b.key()))
	})
	keys := make([]string, len(sorted))
	for i, x := range sorted {
		keys[i] = x.key()
	}
	return slices.Compact(keys)
}
