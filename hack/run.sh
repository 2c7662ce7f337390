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

if [ "${ONCE:-}" = 1 ] || ! [ -t 0 ] || ! [ -t 1 ]; then
	serve='' last='The agent stops.'
else
	serve=1 last='The agent goes on serving, for you to try.'
fi

cat <<TEXT
Compiling; the first time takes a minute or two, later a second. Then:

  1. csi-proxy-emulated, the agent, starts on a Windows node that is made of files, in
     $state.
  2. csi-proxyctl plays a CSI driver. It stages a new disk, links it into a pod's directory and writes a file; the cloud
     makes the disk larger, and the volume grows; then everything is undone. Three times you see the node's disks.
  3. $last

TEXT
hack/build.sh bin

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

# ctl ARGS… shows a command of csi-proxyctl and runs it.
ctl() {
	local word line=''
	for word; do case $word in *[\\\ ]*) line+=" '$word'" ;; *) line+=" $word" ;; esac; done
	printf '\n$ csi-proxyctl%s\n' "$line"
	bin/csi-proxyctl "$@"
}
serial=vol0123456789abcdef1
staging='C:\var\lib\kubelet\plugins\kubernetes.io\csi\example.csi\pv-example\globalmount'
pod='C:\var\lib\kubelet\pods\5f0e1b9c-example\volumes\kubernetes.io~csi\pv-example'
read -r size _ < <(bin/csi-proxyctl disk stats "$serial")

# A volume's life. Each step may be repeated, so a run begins where another was cut off.
ctl tree
printf '\nStage, publish and use: a pod gets the volume.\n'
ctl disk stage "$serial" "$staging"
ctl fs mkdir "$pod"
ctl fs link "$staging" "$pod\\mount"
ctl node path "$pod\\mount"
date +'the pod was here: %F %T' >>"$(bin/csi-proxyctl node path "$pod\\mount")/notes.txt"
ctl tree
printf '\nGrow: the cloud makes the disk larger.\n'
ctl node disk grow "$serial" --size "$((size + (1 << 30)))"
ctl disk rescan
ctl volume resize "$pod\\mount"
ctl fs usage "$pod\\mount"
printf '\nUnpublish and unstage: the pod is gone. The disk goes offline, ready to be detached.\n'
ctl fs rmdir "$pod\\mount" --yes
ctl volume unmount "$staging" --yes
ctl fs rmdir "$staging" --yes
ctl disk offline "$serial" --yes
ctl tree

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

Ctrl-C stops it.
TEXT
code=0
wait "$pid" || code=$?
trap - EXIT
echo "run.sh: the agent ended by itself (exit code $code); its log is $log" >&2
exit 1
