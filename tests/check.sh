#!/usr/bin/env bash
# What `make check` and `make asan` run, once it is built: everything, then one summary; exit 1 where anything failed.
#
#   tests/check.sh BUILD BUNDLES
set -u
build=$1 bundles=$2
log=$(mktemp -d "${TMPDIR:-/tmp}/replay-check.XXXXXX") || exit 1
trap 'rm -rf "$log"' EXIT
export ASAN_OPTIONS=${ASAN_OPTIONS-detect_stack_use_after_return=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
summary=() rc=0

# step NAME COMMAND…: its output, and the last line of it into the summary.
step() {
    local name=$1 code
    shift
    echo "== $name"
    "$@" >"$log/out" 2>&1
    code=$?
    cat "$log/out"
    local last
    last=$(tail -n 1 "$log/out")
    [ "${last#\[}" = "$last" ] && last="$name: $last"
    summary+=("$last")
    if [ $code -ne 0 ]; then
        summary+=("$name: FAILED (exit $code)")
        rc=1
    fi
}

# The program that verifies must start on a machine without CUDA.
no_cuda() {
    local needed
    needed=$(readelf -d "$build/replay" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') && [ -n "$needed" ] || return 1
    if grep -E '^lib(cu|nv)' <<<"$needed"; then
        echo "$build/replay needs a CUDA library"
        return 1
    fi
    echo "none of CUDA: $(tr '\n' ' ' <<<"$needed")"
}

step unit "$build/tests/unit"
for harness in "$build"/tests/corpus-*; do
    [ -x "$harness" ] || continue
    name=${harness##*/corpus-}
    step "corpus $name" "$harness" "tests/fuzz/corpus/$name"
done
step hostile "$build/tests/hostile" ${REPLAY_SANITIZED:+--sample}
step cli bash tests/cli/run.sh "$build" "$bundles"
if [ -z "${REPLAY_SANITIZED-}" ]; then
    step documents python3 tests/docs/check_docs.py "$build"
    step schemas python3 tests/docs/check_schemas.py "$build"
fi
[ ! -d artifacts/evidence ] || step evidence bash tests/evidence.sh "$build"
[ -n "${REPLAY_SANITIZED-}" ] || step faults bash tests/fault/run.sh "$build" "$bundles"
[ -n "${REPLAY_SANITIZED-}" ] || step libraries no_cuda

echo
echo "== summary"
printf '%s\n' "${summary[@]}"
[ $rc -eq 0 ] && echo "check: passed" || echo "check: FAILED"
exit $rc
