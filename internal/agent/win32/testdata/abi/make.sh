#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Makes testdata/golden/layout.txt, and the list of the structures for package winapi's tests, from layout.c with two
# compilers, for x64 and for arm64, which must agree, without running it. Tests compare Go with both files. Declarations
# come from the mingw-w64 headers, or else from Microsoft's pages, which prove only that Go follows the page.
# Then command witness compares Go's //sys lines, calls, structures and constants with the headers by static assertions
# of clang. headers.txt lists what they lack or declare otherwise; it fails for a missing line, and for a needless one.
#   make.sh           write the files
#   make.sh --check   write nothing; fail if a file is not what would be written
# Needs the Debian packages gcc-mingw-w64-x86-64 and clang. MINGW_INCLUDE: the directory of the mingw-w64 headers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
golden=$here/../golden/layout.txt
structs=$here/../../../kernel/windows/winapi/testdata/structs.txt
include=${MINGW_INCLUDE:-/usr/share/mingw-w64/include}
root=$(cd "$here/../../../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in x86_64-w64-mingw32-gcc clang go; do
    command -v "$tool" >/dev/null || { echo "make.sh: $tool is not installed" >&2; exit 1; }
done

x86_64-w64-mingw32-gcc -std=c11 -Wall -Wextra -Werror -c "$here/layout.c" -o "$work/x64.o"
clang --target=aarch64-w64-windows-gnu -isystem "$include" -std=c11 -Wall -Wextra -Werror -c "$here/layout.c" -o "$work/arm64.o"
go run "$here/extract.go" "$work/x64.o" >"$work/x64.txt"
go run "$here/extract.go" "$work/arm64.o" >"$work/arm64.txt"

if ! diff -u "$work/x64.txt" "$work/arm64.txt" >&2; then
    echo "make.sh: x64 and arm64 disagree" >&2
    exit 1
fi
grep -Ev '^(struct|member) ' "$work/x64.txt" >"$work/layout.txt"
grep -E '^(struct|member) ' "$work/x64.txt" >"$work/structs.txt"
case ${1-} in
"")
    mkdir -p "$(dirname "$golden")" "$(dirname "$structs")"
    cp "$work/layout.txt" "$golden"
    cp "$work/structs.txt" "$structs"
    ;;
--check)
    for file in "$golden" "$structs"; do
        if ! diff -u "$file" "$work/$(basename "$file")" >&2; then
            echo "make.sh: $file is stale; run $0" >&2
            exit 1
        fi
    done
    ;;
*)
    echo "usage: make.sh [--check]" >&2
    exit 2
    ;;
esac

cd "$root"
go run "$here/witness" -headers "$include" -table internal/agent/win32/testdata/abi/headers.txt -layouts "$work/layout.txt,$work/structs.txt"
