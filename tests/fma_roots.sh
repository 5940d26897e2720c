#!/usr/bin/env bash
# The roots of all workloads once more, from a build that may use fused multiply-add and wide vectors at -O3: they must be those of
# tests/data/roots.txt, as the ordinary build's are (tests/cli/roots). Skipped where the processor has neither.
#
#   [MAKE=make] tests/fma_roots.sh BUILD [WORKLOAD…]
set -u
build=$1/fma
shift
for flag in fma avx2 bmi2; do
    if ! grep -qw "$flag" /proc/cpuinfo; then
        echo "skipped: this processor has no $flag"
        exit 0
    fi
done
${MAKE:-make} --no-print-directory -s -j2 B="$build" OPT=-O3 CFLAGS='-march=haswell -w' CUDA_ROOT= PYTHON=false "$build/replay" >/dev/null || exit 1
# That it is another build is seen by its vectors; fused instructions are what -ffp-contract=off keeps out of it.
if ! objdump -d "$build/replay" | grep -q '%ymm'; then
    echo "no wide vectors in $build/replay"
    exit 1
fi
tmp=$(mktemp -d "${TMPDIR:-/tmp}/replay-fma.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
if [ $# = 0 ]; then
    mapfile -t names < <(ls artifacts/workloads)
    set -- "${names[@]}"
fi
bad=0
for name in "$@"; do
    "$build/replay" pack "artifacts/workloads/$name" -o "$tmp/b" >/dev/null || exit 1
    line="$name $("$build/replay" inspect "$tmp/b" manifest.json | sha256sum | cut -d' ' -f1)"
    if ! grep -qxF "$line" tests/data/roots.txt; then
        echo "found with FMA and AVX2: $line"
        bad=1
    fi
done
[ $bad = 0 ] && echo "$# roots, the same with FMA and AVX2"
exit $bad
