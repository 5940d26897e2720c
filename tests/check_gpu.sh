#!/usr/bin/env bash
# On a GPU: every bundle through all phases twice; the evidence is audited, its digests checked, and the two compared.
#
#   tests/check_gpu.sh BUILD
set -u
build=$1 passed=0 failed=0
if [ ! -x "$build/replay-gpu" ] || ! "$build/replay-gpu" --probe; then
    echo "no device: skipped"
    exit 0
fi
out=$(mktemp -d "${TMPDIR:-/tmp}/replay-gpu-check.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT

try() {
    echo "\$ $*"
    if "$@"; then
        passed=$((passed + 1))
    else
        echo "FAIL: exit $?: $*"
        failed=$((failed + 1))
    fi
}

for bundle in "$build"/bundles/*.tar.zst; do
    name=$(basename "$bundle" .tar.zst)
    try "$build/replay" verify "$bundle"
    for n in 1 2; do
        try "$build/replay" run "$bundle" --phases 5 --device gpu --out "$out/$name-$n"
        try "$build/replay" audit "$out/$name-$n"
        try sh -c 'cd "$1" && sha256sum --quiet -c SHA256SUMS' sh "$out/$name-$n"
    done
    try "$build/replay" compare "$out/$name-1" "$out/$name-2"
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
