#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the fake as fake-wmi.dll into a folder: build.sh FOLDER. `hack/setup.sh fakes` installs the compiler.
# The files are compiled as one, because most of the time goes into Windows' headers.
# -Wno-sign-compare: wbemcli.h declares the codes as an unsigned enum, and an HRESULT is signed.
set -euo pipefail
cd "$(dirname "$0")"
printf '#include "%s"\n' ./*.c ../harness/*.c |
	x86_64-w64-mingw32-gcc -std=gnu11 -O1 -Wall -Wextra -Wno-sign-compare -Werror -D_WIN32_WINNT=0x0602 -shared -static-libgcc -s \
		-I. -o "$1/fake-wmi.dll" -x c - -x none wmi.def -lole32 -loleaut32 -lwbemuuid -luuid
