#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs on Windows: lists the disks through the agent's pipe, by grpclib, as Python's usual gRPC opens no named pipes.

    pip install grpclib protobuf pywin32
    protoc -I REPOSITORY --python_out=. client/api/disk/v1/api.proto
    python windows_pipe.py

It has not been run on Windows; CI parses it.
"""

import asyncio

import win32security
from grpclib.client import Channel, UnaryUnaryMethod

from client.api.disk.v1 import api_pb2 as disk

AGENTS = ("S-1-5-18", "S-1-5-32-544")  # SYSTEM, Administrators: while no agent runs, any user may make a pipe of its name


class PipeChannel(Channel):
    """A connection through the named pipe of an API group's version, which grpclib opens again when it breaks."""

    def __init__(self, group, version):
        super().__init__(path=rf"\\.\pipe\csi-proxy-{group}-{version}")

    async def _create_connection(self):
        transport, protocol = await self._loop.create_pipe_connection(self._protocol_factory, self._path)
        security = win32security.GetSecurityInfo(
            transport.get_extra_info("pipe").handle,
            win32security.SE_KERNEL_OBJECT, win32security.OWNER_SECURITY_INFORMATION)
        owner = win32security.ConvertSidToStringSid(security.GetSecurityDescriptorOwner())
        if owner not in AGENTS:
            transport.close()
            raise PermissionError(f"{self._path} belongs to {owner}, so it is no agent's")
        return protocol


async def main():
    async with PipeChannel("disk", "v1") as channel:
        list_ids = UnaryUnaryMethod(channel, "/v1.Disk/ListDiskIDs", disk.ListDiskIDsRequest, disk.ListDiskIDsResponse)
        answer = await list_ids(disk.ListDiskIDsRequest(), timeout=60)  # in seconds
        for number, ids in sorted(answer.diskIDs.items()):
            print(number, ids.serial_number)


if __name__ == "__main__":
    asyncio.run(main())  # with Windows' usual event loop, the proactor
