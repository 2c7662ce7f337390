#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the commands, starts the agent on an emulated node with the flags that it is given, prints "ready 24", and leaves the
# agent running. It tells the job's later steps where the sockets are and puts csi-proxyctl on their PATH, by the files that
# GitHub names in GITHUB_ENV, GITHUB_PATH and GITHUB_OUTPUT. The node is below RUNNER_TEMP.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
node=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/csi-proxy.XXXX")
"$root/hack/build.sh" "$node/bin"

# The agent's first line goes through a pipe, which this script reads; its log goes to a file.
mkfifo "$node/first-line"
setsid "$node/bin/csi-proxy-emulated" -state-dir="$node/state" "$@" >"$node/first-line" 2>"$node/log" </dev/null &
read -r line <"$node/first-line" || true
if [[ ${line:-} != ready* ]]; then
	echo "The agent did not start:" >&2
	cat "$node/log" >&2
	exit 1
fi
echo "$line"
echo "CSI_PROXY_SOCKET_DIR=$node/state/run" >>"${GITHUB_ENV:-/dev/null}"
echo "$node/bin" >>"${GITHUB_PATH:-/dev/null}"
echo "socket-dir=$node/state/run" >>"${GITHUB_OUTPUT:-/dev/null}"
