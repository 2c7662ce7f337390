#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the commands, starts an agent on an emulated Windows node, shows one volume's life on it, and then leaves the
# agent running until Ctrl-C. With ONCE=1, or in a pipe, it stops the agent and exits instead.
#   STATE_DIR   where the node lives; default: state in this repository. The next run finds the same node there.
set -euo pipefail
cd "$(dirname "$0")/.."

state=${STATE_DIR:-$PWD/state}
mkdir -p "$state"
state=$(cd "$state" && pwd)
log=$state/csi-proxy.log
export CSI_PROXY_SOCKET_DIR=$state/run

# With the flags of hack/build.sh. csi-proxyctl, which a look at the lifecycle does not need, comes later.
build() {
	GOWORK=off GOFLAGS='' CGO_ENABLED=0 go build -trimpath -tags=grpcnotrace,nethttpomithttp2 -ldflags=-s -o bin/ "$@"
}

if [ "${ONCE:-}" = 1 ] || ! [ -t 0 ] || ! [ -t 1 ]; then
	serve='' last='The agent stops.'
else
	serve=1 last='The agent goes on serving, for you to try.'
fi

cat <<TEXT
Compiling; the first time takes about a minute, later a second. Then:

  1. csi-proxy-emulated, the agent, starts on a Windows node that is made of files, in
     $state.
  2. A program plays a CSI driver. It finds a new disk, partitions, formats and mounts it, links it into a pod's
     directory and writes a file; the cloud makes the disk larger, and the volume grows; then everything is undone. Each
     step shows the call that a driver makes, and three times you see the node's disks.
  3. $last

TEXT
if [ -t 2 ]; then
	# One line that changes: the package that is being compiled.
	build -v ./cmd/csi-proxy-emulated ./examples/volume-lifecycle 2> >(awk '{ printf "\r\033[K%4d packages  %s", NR, $0; fflush() } END { printf "\r\033[K" }' >&2)
else
	build ./cmd/csi-proxy-emulated ./examples/volume-lifecycle
fi

# The agent gets a process group of its own, so that Ctrl-C reaches this script alone, which then stops the agent.
set -m
coproc agent { exec bin/csi-proxy-emulated -state-dir="$state" -v=2 -logtostderr=false -log_file="$log"; }
set +m
pid=$agent_PID
stop() { kill -TERM "$pid" 2>/dev/null || true; }
trap stop EXIT

# The agent prints one line when every endpoint accepts calls; if it ends without that line, it has failed.
if ! read -r ready count <&"${agent[0]}" || [ "$ready" != ready ]; then
	code=0
	wait "$pid" || code=$?
	echo "run.sh: the agent did not start (exit code $code); its log is $log" >&2
	exit 1
fi
echo "csi-proxy-emulated (process $pid) serves $count API endpoints of an emulated Windows node; its log is $log"

bin/volume-lifecycle

finish() {
	trap - EXIT INT TERM
	stop
	code=0
	wait "$pid" || code=$?
	exit "$code"
}

if [ -z "$serve" ]; then
	finish
fi
trap 'echo; finish' INT TERM

GOWORK=off GOFLAGS='' CGO_ENABLED=0 go -C cmd/csi-proxyctl build -trimpath -tags=grpcnotrace,nethttpomithttp2 -ldflags=-s -o ../../bin/ .
cat <<TEXT

The agent goes on serving:

$(bin/csi-proxyctl apis)

Try, in another terminal:

  export CSI_PROXY_SOCKET_DIR=$CSI_PROXY_SOCKET_DIR
  cd $PWD
  bin/csi-proxyctl tree
  bin/csi-proxyctl node disk attach --size 20Gi --serial my-disk
  bin/csi-proxyctl node path 'C:\\var\\lib\\kubelet'
  bin/csi-proxyctl node reboot
  bin/volume-lifecycle

Ctrl-C stops it.
TEXT
code=0
wait "$pid" || code=$?
trap - EXIT
echo "run.sh: the agent ended by itself (exit code $code); its log is $log" >&2
exit 1
