// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// malformedVolumeIDs returns ids that every method refuses.
func malformedVolumeIDs(g *target) []string {
	guid := strings.TrimSuffix(strings.TrimPrefix(g.volume, `\\?\Volume{`), `}\`)
	ids := []string{
		"", " ", `\`, `\\?\`, `Volume`, `Volume{}`, `\\?\Volume{}\`, guid, `{` + guid + `}`, `{` + guid + `}\`,
		`Volume` + guid, `Volume{` + guid,
		`Volume(` + guid + `)`, `\\?\Volume{` + guid[1:] + `}\`, `\\?\Volume{0` + guid + `}\`, `\\?\Volume{` +
			strings.ReplaceAll(guid, "-", "") + `}\`,
		`\\?\Volume{` + strings.Repeat("g", 8) + guid[8:] + `}\`, `\\?\Volume{ ` + guid[1:] + `}\`, `\\?\Volume{+` +
			guid[1:] + `}\`, `\\?\Volume{0x` + guid[2:] + `}\`,
		g.volume + `\`, g.volume + `Windows`, g.volume + `..\`, g.volume + `..\..\Windows`, g.volume + `..`,
		g.volume + `data`, g.volume + ` `, g.volume + "\x00", g.volume + "\n",
		strings.TrimSuffix(g.volume, `\`) + `/`, strings.TrimSuffix(g.volume, `\`) + `:x`,
		strings.TrimSuffix(g.volume, `\`) + "\x00" + `\`,
		` ` + g.volume, "\t" + g.volume, `\\?\` + g.volume, `\\?\\Volume{` + guid + `}\`, `\\.\Volume{` + guid + `}\`,
		`\??\Volume{` + guid + `}\`, `\Volume{` + guid + `}\`,
		`//?/Volume{` + guid + `}/`, `\\?\GLOBALROOT\Volume{` + guid + `}\`, `\\server\Volume{` + guid + `}\`, `X` + g.volume,
		`\\?\Ｖolume{` + guid + `}\`, `\\?\Volume{` + strings.Replace(guid, guid[:1], "１", 1) + `}\`,
		"\\?\\Vo\u200blume{" + guid + `}\`,
		`C:`, `C:\`, `\\.\C:`, `\\.\PhysicalDrive1`, `\\?\PhysicalDrive0`, `\\?\Harddisk0Partition1\`,
		`\Device\HarddiskVolume1`, mount, mount + `\`, `*`, `%`,
		`\\?\Volume{` + guid + `}\' OR 1=1 --`, `' OR UniqueId LIKE '%`, `"; Clear-Disk -Number 1; "`, `$(calc)`,
		strings.Repeat(g.volume, 2),
		strings.Repeat("A", 32<<10), `\\?\Volume{` + strings.Repeat(guid, 900) + `}\`,
	}
	return ids
}

func TestMalformedVolumeIDs(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for i, id := range malformedVolumeIDs(g) {
		if !testnode.Sampled(t, i, 0, 1) {
			continue
		}
		g.eachField(kind.isVolume, func(m method, f field, request values) {
			request[f.name] = id
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v, %s %q", m, f.name, clip(id)), err, codes.InvalidArgument)
		})
		before = g.unchanged(fmt.Sprintf("volume id %q", clip(id)), before)
	}
	g.alive()
}

// A missing volume is NotFound, except to UnmountVolume, which looks at the path.
func TestUnknownVolumes(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for _, id := range []string{`\\?\Volume{12345678-9abc-def0-1234-56789abcdef0}\`,
		`\\?\Volume{00000000-0000-0000-0000-000000000000}\`, `Volume{FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF}`} {
		g.eachField(kind.isVolume, func(m method, f field, request values) {
			want := codes.NotFound
			if m.name == "UnmountVolume" {
				want = codes.OK // nothing is mounted there
			}
			request[f.name] = id
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v of %s", m, id), err, want)
		})
		for _, m := range methodsNamed(t, "MountVolume", "UnmountVolume") { // and where another one is mounted
			want := map[string]codes.Code{"MountVolume": codes.NotFound, "UnmountVolume": codes.FailedPrecondition}[m.name]
			_, err := g.call(t.Context(), m, m.encode(t, values{"volume_id": id, "target_path": mount}))
			wantCode(t, fmt.Sprintf("%v of %s at another's mount point", m, id), err, want)
		}
		before = g.unchanged(id, before)
	}
	g.alive()
}

// The volumes that Windows needs may be looked at, but neither changed nor made reachable.
func TestSystemVolumes(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for name, id := range map[string]string{"system": g.system, "EFI": g.efi} {
		for _, at := range []string{mount, pods + `\new`} {
			for _, m := range methodsNamed(t, "FormatVolume", "ResizeVolume", "MountVolume", "UnmountVolume") {
				var want codes.Code
				if m.name != "UnmountVolume" || at == mount {
					want = codes.FailedPrecondition
				}
				_, err := g.call(t.Context(), m, m.encode(t, values{"volume_id": id, "target_path": at}))
				wantCode(t, fmt.Sprintf("%v of the %s volume at %s", m, name, at), err, want)
				before = g.unchanged(fmt.Sprintf("%v of the %s volume at %s", m, name, at), before)
			}
		}
	}
	g.alive()
}

func TestResizeVolumeNumbers(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	negative := func(n int64) uint64 { return uint64(n) }
	for _, m := range methodsNamed(t, "ResizeVolume") {
		for _, c := range []struct {
			id   string
			size uint64
			want codes.Code
		}{
			{g.volume, negative(-1), codes.InvalidArgument},
			{g.volume, negative(math.MinInt64), codes.InvalidArgument},
			{g.volume, negative(math.MinInt64 + 1), codes.InvalidArgument},
			{g.volume, math.MaxInt64, codes.OutOfRange},
			{g.volume, math.MaxInt64 - 511, codes.OutOfRange},
			{g.volume, math.MaxInt64 - 1<<20, codes.OutOfRange},
			{g.volume, 1 << 62, codes.OutOfRange},
			{g.volume, 10<<30 + 2<<20, codes.OutOfRange},
			{g.volume, 0, codes.OK},
			{g.volume, 1, codes.OK},
			{g.volume, 1<<63 - 1 - math.MaxInt64, codes.OK}, // 0 again
			{"1", 0, codes.OK},
			{"0000000001", 0, codes.OK},
			{"1", negative(-1), codes.InvalidArgument},
			{"2", 0, codes.FailedPrecondition}, // raw and offline
			{"3", 0, codes.NotFound},
			{"4294967295", 0, codes.NotFound},
			{"4294967296", 0, codes.InvalidArgument},
			{"4294967297", 0, codes.InvalidArgument}, // 1, if it were cut to 32 bits
			{"18446744073709551617", 0, codes.InvalidArgument},
			{strings.Repeat("9", 32<<10), 0, codes.InvalidArgument},
			{"-1", 0, codes.InvalidArgument},
			{"+1", 0, codes.InvalidArgument},
			{" 1", 0, codes.InvalidArgument},
			{"1 ", 0, codes.InvalidArgument},
			{"1\x00", 0, codes.InvalidArgument},
			{"0x1", 0, codes.InvalidArgument},
			{"1_0", 0, codes.InvalidArgument},
			{"1e0", 0, codes.InvalidArgument},
			{"１", 0, codes.InvalidArgument},
			{"1.0", 0, codes.InvalidArgument},
		} {
			_, err := g.call(t.Context(), m, m.encode(t, values{"volume_id": c.id, "size_bytes": c.size}))
			what := fmt.Sprintf("%v of %q to %d", m, clip(c.id), int64(c.size))
			wantCode(t, what, err, c.want)
			before = g.unchanged(what, before)
		}
	}
	g.alive()
}

func TestDiskNumbers(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for _, m := range methods(t) {
		if len(m.fields) == 0 || m.fields[0].kind != kindDisk {
			continue
		}
		for _, number := range []uint64{3, 4, 77, 1<<31 - 1, 1 << 31, math.MaxUint32} {
			request := g.harmless(m)
			request["disk_number"] = number
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v of disk %d", m, number), err, codes.NotFound)
		}
		// 0 is the system disk, and so is any value beyond 32 bits whose low 32 bits are zero.
		for _, number := range []uint64{0, 1 << 32, 1 << 63} {
			for _, online := range []uint64{0, 1} {
				want := codes.OK
				if m.name == "PartitionDisk" || m.name == "SetDiskState" && online == 0 {
					want = codes.FailedPrecondition
				}
				_, err := g.call(t.Context(), m, m.encode(t, values{"disk_number": number, "is_online": online}))
				wantCode(t, fmt.Sprintf("%v of disk %d", m, number), err, want)
			}
		}
		before = g.unchanged(m, before)
	}
	for _, m := range methodsNamed(t, "ListVolumesOnDisk") {
		for partition, want := range map[uint64]codes.Code{
			0: codes.OK, 1: codes.FailedPrecondition, 2: codes.OK, 3: codes.NotFound, 128: codes.NotFound, 129: codes.NotFound,
			math.MaxUint32: codes.NotFound, 1 << 32: codes.OK,
		} {
			_, err := g.call(t.Context(), m, m.encode(t, values{"disk_number": uint64(1), "partition_number": partition}))
			wantCode(t, fmt.Sprintf("%v, partition %d", m, partition), err, want)
		}
	}
	g.unchanged("listing partitions", before)
	g.alive()
}
