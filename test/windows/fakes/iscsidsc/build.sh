#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fake as fake-iscsidsc.dll into a folder: build.sh FOLDER. `hack/setup.sh fakes` installs the compiler.
# The name keeps it from being loaded by chance: a test copies it into Wine's system32 as iscsidsc.dll.
set -euo pipefail
cd "$(dirname "$0")"
x86_64-w64-mingw32-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -D_WIN32_WINNT=0x0602 -shared -static-libgcc -s -o "$1/fake-iscsidsc.dll" ./*.c ../harness/*.c
