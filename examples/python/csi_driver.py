#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs on Linux, with an emulated Windows node: a CSI node plugin without any Go. Python's gRPC opens no named pipes.

Its volumes are disks and SMB shares. Each step of CSI is one call of the agent's group nodesteps, and the plugin keeps no
state: it may end at any time.

    csi_driver.py --socket-dir STATE/run --node-id node-1 --endpoint unix:///csi/csi.sock
"""

import argparse
import signal
import sys
from concurrent import futures

import csi_pb2 as csi
import grpc

from stubs import connect, reason

CODE = grpc.StatusCode
RPC = csi.NodeServiceCapability.RPC
MODE = csi.VolumeCapability.AccessMode
LONGEST = 110  # seconds that the agent works on a call


class Refused(Exception):
    """A request that the plugin refuses, with its code."""


def need(request, *names):
    for name in names:
        if not getattr(request, name):
            raise Refused(CODE.INVALID_ARGUMENT, f"the {name} is missing")


def usable(request):
    if not request.HasField("volume_capability"):
        raise Refused(CODE.INVALID_ARGUMENT, "the volume capability is missing")
    if request.volume_capability.HasField("block"):
        raise Refused(CODE.INVALID_ARGUMENT, "Windows containers have no raw block volumes: use volumeMode Filesystem")


def mark_of(request):
    """Returns how to recognise the disk: by what the controller says of it or else, as with EBS, by the volume's id."""
    said = request.publish_context
    if "lun" in said:
        if not said["lun"].isdecimal():
            raise Refused(CODE.INVALID_ARGUMENT, f"LUN {said['lun']!r} of the publish context is not a number")
        return {"azure_lun": int(said["lun"])}
    if "deviceName" in said:
        return {"gce_device_name": said["deviceName"]}
    if "diskUUID" in said:
        return {"vsphere_uuid": said["diskUUID"]}
    return {"ebs_volume_id": request.volume_id}


class Driver:
    """The plugin's methods, by their names in CSI. Each gets its request and the seconds that it may take."""

    def __init__(self, steps, node_id):
        self.steps, self.node_id = steps, node_id

    def GetPluginInfo(self, request, seconds):
        return csi.GetPluginInfoResponse(name="python.csi.example.com", vendor_version="1.0.0")

    def GetPluginCapabilities(self, request, seconds):
        service = csi.PluginCapability.Service(type=csi.PluginCapability.Service.CONTROLLER_SERVICE)
        return csi.GetPluginCapabilitiesResponse(capabilities=[csi.PluginCapability(service=service)])

    def Probe(self, request, seconds):
        return csi.ProbeResponse()

    def NodeGetInfo(self, request, seconds):
        return csi.NodeGetInfoResponse(node_id=self.node_id)

    def NodeGetCapabilities(self, request, seconds):
        types = [RPC.STAGE_UNSTAGE_VOLUME, RPC.GET_VOLUME_STATS, RPC.EXPAND_VOLUME]
        return csi.NodeGetCapabilitiesResponse(capabilities=[csi.NodeServiceCapability(rpc=RPC(type=t)) for t in types])

    def NodeStageVolume(self, request, seconds):
        need(request, "volume_id", "staging_target_path")
        usable(request)
        if "source" in request.volume_context:
            self.stage_share(request, request.staging_target_path, seconds)
            return csi.NodeStageVolumeResponse()
        kind = request.volume_capability.mount.fs_type
        if kind.lower() not in ("", "ntfs"):
            raise Refused(CODE.INVALID_ARGUMENT, f"file system {kind!r}: disks of Windows nodes have NTFS")
        mode = request.volume_capability.access_mode.mode
        self.steps.StageDisk(
            seconds, target_path=request.staging_target_path, **mark_of(request),
            read_only=mode in (MODE.SINGLE_NODE_READER_ONLY, MODE.MULTI_NODE_READER_ONLY))
        return csi.NodeStageVolumeResponse()

    def stage_share(self, request, path, seconds):
        self.steps.StageShare(
            seconds, remote_path=request.volume_context["source"], target_path=path,
            username=request.secrets["username"], password=request.secrets["password"])

    def NodeUnstageVolume(self, request, seconds):
        need(request, "volume_id", "staging_target_path")
        self.steps.Unstage(seconds, target_path=request.staging_target_path)
        return csi.NodeUnstageVolumeResponse()

    def NodePublishVolume(self, request, seconds):
        need(request, "volume_id", "target_path")
        usable(request)
        if not request.staging_target_path:
            raise Refused(CODE.FAILED_PRECONDITION, "the volume is not staged: the staging path is missing")
        if "source" in request.volume_context:  # its mapping may have become useless since it was staged
            self.stage_share(request, request.staging_target_path, seconds)
        self.steps.Publish(seconds, source_path=request.staging_target_path, target_path=request.target_path)
        return csi.NodePublishVolumeResponse()

    def NodeUnpublishVolume(self, request, seconds):
        need(request, "volume_id", "target_path")
        self.steps.Unstage(seconds, target_path=request.target_path)
        return csi.NodeUnpublishVolumeResponse()

    def NodeGetVolumeStats(self, request, seconds):
        need(request, "volume_id", "volume_path")
        volume = self.steps.GetVolume(seconds, target_path=request.volume_path)
        if volume.code:
            raise Refused(next(code for code in CODE if code.value[0] == volume.code), volume.message)
        usage = csi.VolumeUsage(
            unit=csi.VolumeUsage.BYTES, total=volume.total_bytes, used=volume.used_bytes, available=volume.available_bytes)
        return csi.NodeGetVolumeStatsResponse(usage=[usage])

    def NodeExpandVolume(self, request, seconds):
        need(request, "volume_id", "volume_path")
        try:
            size = self.steps.Expand(seconds, target_path=request.volume_path, size_bytes=request.capacity_range.required_bytes)
        except grpc.RpcError as error:
            if reason(error) != "ON_SHARE":
                raise
            return csi.NodeExpandVolumeResponse()  # a share, whose server decides its size
        return csi.NodeExpandVolumeResponse(capacity_bytes=size.disk_bytes)


def code_for(method, error):
    """Returns CSI's code for an error of the agent. After DEADLINE_EXCEEDED and the like, kubelet knows that work may go on."""
    if error.code() == CODE.INVALID_ARGUMENT and method in ("NodeGetVolumeStats", "NodeExpandVolume"):
        return CODE.NOT_FOUND  # no volume can be at a path that the agent refuses
    return error.code()


def served(name, method):
    """Returns a method as grpc calls it."""

    def call(request, context):
        left = context.time_remaining()
        try:
            return method(request, LONGEST if left is None else min(left, LONGEST))
        except Refused as refusal:
            context.abort(*refusal.args)
        except grpc.RpcError as error:
            context.abort(code_for(name, error), error.details())

    return call


def serve(driver, endpoint):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=64))
    for service in csi.DESCRIPTOR.services_by_name.values():
        methods = {
            m.name: grpc.unary_unary_rpc_method_handler(
                served(m.name, getattr(driver, m.name)),
                request_deserializer=getattr(csi, m.input_type.name).FromString,
                response_serializer=getattr(csi, m.output_type.name).SerializeToString,
            )
            for m in service.methods
            if hasattr(driver, m.name)
        }
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service.full_name, methods)])
    port = server.add_insecure_port(endpoint)
    server.start()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: server.stop(LONGEST))
    print("ready at", f"127.0.0.1:{port}" if endpoint.endswith(":0") else endpoint, flush=True)
    server.wait_for_termination()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--socket-dir", required=True, help="directory of the agent's sockets")
    parser.add_argument("--node-id", required=True, help="name of this node")
    parser.add_argument("--endpoint", default="unix:///csi/csi.sock", help="where kubelet finds the plugin")
    arguments = parser.parse_args()
    steps = connect(arguments.socket_dir, "nodesteps", "v1alpha1")
    serve(Driver(steps, arguments.node_id), arguments.endpoint)


if __name__ == "__main__":
    sys.exit(main())
