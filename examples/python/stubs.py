# SPDX-License-Identifier: Apache-2.0
"""Connects to an agent's sockets.

protoc makes the messages from this repository's protos:

    protoc -I REPOSITORY --python_out=DIR client/api/disk/v1/api.proto ...
    protoc -I REPOSITORY/examples/python --python_out=DIR status.proto

The calls are built from the service descriptors in them, so only grpcio and protobuf are needed. The usual stubs that
grpcio-tools generates work as well.
"""

import importlib
import os

import grpc
import status_pb2

# How long a call may take. The longest, formatting and growing a volume, take seconds on a Windows node.
DEADLINE_SECONDS = 60


class Service:
    """The methods of one service; each takes the seconds that it may last, and its request's fields as keyword arguments."""

    def __init__(self, channel, module):
        (service,) = module.DESCRIPTOR.services_by_name.values()
        for method in service.methods:
            request, response = getattr(module, method.input_type.name), getattr(module, method.output_type.name)
            call = channel.unary_unary(
                f"/{service.full_name}/{method.name}",
                request_serializer=request.SerializeToString,
                response_deserializer=response.FromString,
            )
            setattr(self, method.name, self._method(call, request))

    @staticmethod
    def _method(call, request):
        return lambda seconds=DEADLINE_SECONDS, **fields: call(request(**fields), timeout=seconds)


def connect(socket_dir, group, version, authority=None):
    """Returns the service of an API group's version, at the socket csi-proxy-GROUP-VERSION.sock."""
    options = [("grpc.max_reconnect_backoff_ms", 1000)]  # gRPC's own bound is two minutes after an agent's restart
    if authority:
        options.append(("grpc.default_authority", authority))
    path = os.path.abspath(os.path.join(socket_dir, f"csi-proxy-{group}-{version}.sock"))
    channel = grpc.insecure_channel("unix:" + path, options=options)
    return Service(channel, importlib.import_module(f"client.api.{group}.{version}.api_pb2"))


def reason(error):
    """Returns the reason that the agent gave with an error, such as "DISK_NOT_FOUND", and "" where it gave none."""
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin":
            for detail in status_pb2.Status.FromString(value).details:
                info = status_pb2.ErrorInfo.FromString(detail.value)
                if detail.type_url.endswith("/google.rpc.ErrorInfo") and info.domain == "csi-proxy":
                    return info.reason
    return ""
