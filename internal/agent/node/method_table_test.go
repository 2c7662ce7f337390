// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// A row that leaves open what its request names is found before any call: no node can be made then.
func TestIncompleteRows(t *testing.T) {
	masked := func(*Disks, context.Context, *fieldmaskpb.FieldMask) (*emptypb.Empty, error) {
		return &emptypb.Empty{}, nil
	}
	for want, rows := range map[string]map[string][]Method{
		"does not say what the text disk_name": {"disk": {reads("A", (*Disks).GetDiskNumberByName, nil)}},
		"does not say what the text target_portal.target_address": {
			"iscsi": {reads("A", (*ISCSI).GetTargetDisks, fields{"iqn": NamesTarget})}},
		"has no text disk_nam": {"disk": {reads("A", (*Disks).GetDiskNumberByName,
			fields{"disk_name": NamesNothing, "disk_nam": NamesNothing})}},
		"has a list of texts, paths": {"disk": {reads("A", masked, nil)}},
		"two methods are called A": {"disk": {reads("A", (*Disks).ListDiskIDs, nil),
			reads("A", (*Disks).ListDiskIDs, nil)}},
		"do not agree on what": {"volume": {
			reads("A", (*Volumes).GetVolumeStats, fields{"volume_id": NamesNothing}),
			reads("B", (*Volumes).GetVolumeStats, fields{"volume_id": NamesPath})}},
	} {
		if err := knownOf(rows).err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
}
