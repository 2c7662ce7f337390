// SPDX-License-Identifier: Apache-2.0

package node

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// How many calls may be in Windows' providers at the same time: half of the threads for one client, so that another one
// still gets its answer, and few enough for one server that one that is away does not take them all. A client formats as many
// volumes at once as there are places for changes: a format is most of the time that the stage of a new volume takes.
const (
	mapsOfServer    = 2
	mapsOfClient    = kernel.MostMaps / 2
	formatsOfClient = changePlaces // half of kernel.MostFormats
)

// What calls belong to; the zero value of everybody is all calls.
type (
	everybody struct{}
	ofServer  string
	ofClient  struct{ client any }
)

// mapAnew asks Windows to map a share, which takes as long as the server takes to answer. Windows does not map over a
// mapping, whatever its state, so that goes first.
func (o *op) mapAnew(key, userName string, password Secret) error {
	server := serverOf(key)
	leave, full := o.node.maps.enter(
		quota{ofServer(server), mapsOfServer}, quota{ofClient{o.client}, mapsOfClient}, quota{everybody{}, kernel.MostMaps})
	if full != nil {
		whose := "this client's"
		switch full.to.(type) {
		case ofServer:
			whose = "the server " + server + "'s"
		case everybody:
			whose = "all"
		}
		return errorf(Unavailable, reason.NotAnswering,
			"cannot map %s: %d calls that map shares hang in Windows, %s; no more are begun until one of them ends", key, full.most, whose)
	}
	defer leave()
	if err := o.unmap(key); err != nil {
		return err
	}
	return o.k.CreateSMBGlobalMapping(key, userName, password, o.node.requirePrivacy)
}

// format asks Windows to format a volume, which takes as long as its disk takes.
func (o *op) format(id winpath.VolumeID) error {
	leave, full := o.node.formats.enter(quota{ofClient{o.client}, formatsOfClient}, quota{everybody{}, kernel.MostFormats})
	if full != nil {
		return errorf(Unavailable, reason.NotAnswering,
			"cannot format volume %s: %d calls that format volumes hang in Windows; no more are begun until one of them ends", id, full.most)
	}
	defer leave()
	return o.k.FormatVolume(id.String(), "NTFS")
}
