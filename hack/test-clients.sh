#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the clients in languages other than Go against an agent on an emulated node: examples/python with Debian's grpcio.
# Everything is made in a temporary directory. A call that fails must make the client fail, which is tested as well.
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-/usr/bin/python3} # Debian's own, which has Debian's packages
dir=$(mktemp -d /tmp/csi.XXXXXX)   # short: a socket's path must not be longer than 107 bytes
pid=
stop() {
	[ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT

hack/build.sh "$dir" '' csi-proxy-emulated csi-proxyctl
protoc -I . --python_out="$dir" client/api/{disk,volume,filesystem}/v1/api.proto
protoc -I examples/python --python_out="$dir" status.proto
export CSI_PROXY_SOCKET_DIR=$dir/s/run PYTHONPATH=$dir PYTHONDONTWRITEBYTECODE=1

coproc agent { exec "$dir/csi-proxy-emulated" -state-dir="$dir/s" 2>"$dir/log"; }
pid=$agent_PID
if ! read -r ready count <&"${agent[0]}" || [ "$ready" != ready ]; then
	cat "$dir/log" >&2
	exit 1
fi
echo "The agent serves $count endpoints; $("$python" -c 'import grpc, google.protobuf as p; print(f"grpcio {grpc.__version__}, protobuf {p.__version__}")')."

# The client for named pipes is only parsed here: it needs Windows.
"$python" -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' examples/python/windows_pipe.py

ctl=$dir/csi-proxyctl
run() { "$python" examples/python/lifecycle.py --socket-dir "$CSI_PROXY_SOCKET_DIR" "$@"; }
must_fail() {
	local want=$1 output
	shift
	if output=$(run "$@" 2>&1); then
		echo "The client succeeded although it must not: $output" >&2
		exit 1
	fi
	if [[ $output != *"$want"* ]]; then
		echo "The client failed, but not with \"$want\": $output" >&2
		exit 1
	fi
	echo "Failed as it must: ${output##*$'\n'}"
}

"$ctl" node disk attach --size 1Gi --serial python-1 >/dev/null
"$ctl" node disk attach --size 1Gi --serial python-2 >/dev/null
run --serial python-1
# Some libraries send the path of the socket, escaped, as :authority.
run --serial python-2 --authority "%2Ftmp%2Fcsi-proxy-disk-v1.sock" >/dev/null
must_fail "has the serial number" --serial python-9
"$ctl" node fault add --function SetVolumeMountPoint --fail ERROR_NOT_READY >/dev/null
must_fail "ERROR_NOT_READY" --serial python-1
kill -TERM "$pid" && wait "$pid" && pid=
must_fail "UNAVAILABLE" --serial python-1
echo "The Python client passed."

# The node plugin, by csi-sanity, on a node of its own.
spec=$(GOWORK=off go -C examples/csi-driver list -m -f '{{.Dir}}' github.com/container-storage-interface/spec)
protoc -I . --python_out="$dir" client/api/nodesteps/v1alpha1/api.proto
protoc -I "$spec" --python_out="$dir" csi.proto
CSI_DRIVER_PYTHON=$python go test -trimpath -vet=off -count=1 -v -run TestPythonSanity ./examples/csi-driver >"$dir/sanity" 2>&1 || {
	cat "$dir/sanity"
	exit 1
}
grep -aE "csi-sanity, " "$dir/sanity"
echo "The plugin in Python, $(wc -l <examples/python/csi_driver.py) lines, passed csi-sanity."
