#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A volume's life on a Windows node, driven over gRPC without any Go.

It finds a blank disk, partitions, formats and mounts it, publishes it by a link, reads its sizes, and undoes all of that.
If a call fails or gives an unexpected answer, it says so and exits with 1.

    csi-proxyctl node disk attach --size 1Gi --serial python-example
    lifecycle.py --socket-dir STATE/run --serial python-example
"""

import argparse
import sys

import grpc

from stubs import connect

STAGING = r"C:\var\lib\kubelet\plugins\kubernetes.io\csi\python.example\globalmount"
PUBLISH = r"C:\var\lib\kubelet\pods\python-example-mount"


def find_disk(disk, serial):
    """Returns the number of the disk with a serial number, by which a driver finds its volume."""
    ids = disk.ListDiskIDs().diskIDs
    for number, identity in ids.items():
        if identity.serial_number == serial:
            return number
    raise LookupError(f"none of the disks {sorted(ids)} has the serial number {serial}")


def stage(disk, volume, number):
    """Makes the disk's volume and mounts it. Every call may be repeated, so after a failure the function is run again."""
    disk.PartitionDisk(disk_number=number)
    disk.SetDiskState(disk_number=number, is_online=True)
    volume_id = volume.ListVolumesOnDisk(disk_number=number).volume_ids[0]
    if not volume.IsVolumeFormatted(volume_id=volume_id).formatted:
        volume.FormatVolume(volume_id=volume_id)
    volume.MountVolume(volume_id=volume_id, target_path=STAGING)
    return volume_id


def unstage(disk, volume, filesystem, number, volume_id):
    volume.UnmountVolume(volume_id=volume_id, target_path=STAGING)
    filesystem.Rmdir(path=STAGING, force=True)
    disk.SetDiskState(disk_number=number, is_online=False)


def expect(what, got, want):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")
    print(f"{what}: {got}")


def live(connect_to, serial):
    disk, volume, filesystem = connect_to("disk", "v1"), connect_to("volume", "v1"), connect_to("filesystem", "v1")
    number = find_disk(disk, serial)
    print(f"disk {number} has the serial number {serial}")

    try:
        volume.GetVolumeIDFromTargetPath(target_path=STAGING)
        raise AssertionError("a volume is mounted before anybody mounted one")
    except grpc.RpcError as error:  # the answer to a question, as drivers ask it
        expect("nothing is mounted yet", error.code(), grpc.StatusCode.NOT_FOUND)

    volume_id = stage(disk, volume, number)
    expect("staged twice gives the same volume", stage(disk, volume, number), volume_id)
    filesystem.CreateSymlink(source_path=STAGING, target_path=PUBLISH)
    expect("the publish path is a link", filesystem.IsSymlink(path=PUBLISH).is_symlink, True)
    expect("it leads to the volume", volume.GetVolumeIDFromTargetPath(target_path=PUBLISH).volume_id, volume_id)
    stats, size = volume.GetVolumeStats(volume_id=volume_id), disk.GetDiskStats(disk_number=number).total_bytes
    expect("the volume fits its disk", 0 < stats.used_bytes < stats.total_bytes < size, True)

    filesystem.Rmdir(path=PUBLISH, force=True)
    unstage(disk, volume, filesystem, number, volume_id)
    expect("the staging path is gone", filesystem.PathExists(path=STAGING).exists, False)
    expect("the disk is online", disk.GetDiskState(disk_number=number).is_online, False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket-dir", required=True, help="directory of the agent's sockets")
    parser.add_argument("--serial", required=True, help="serial number of a blank disk to use")
    parser.add_argument("--authority", help="send this :authority; the agent takes any")
    arguments = parser.parse_args()
    try:
        live(lambda group, version: connect(arguments.socket_dir, group, version, arguments.authority), arguments.serial)
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
    except (AssertionError, LookupError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
