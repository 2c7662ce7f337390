#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fake as fake-virtdisk.dll into a folder: build.sh FOLDER. `hack/setup.sh fakes` installs the compiler.
set -euo pipefail
cd "$(dirname "$0")"
x86_64-w64-mingw32-gcc -std=gnu11 -O1 -Wall -Wextra -Werror -D_WIN32_WINNT=0x0602 -shared -static-libgcc -s -Wno-attributes -Wl,--export-all-symbols \
	-o "$1/fake-virtdisk.dll" virtdisk.c ../harness/control.c
