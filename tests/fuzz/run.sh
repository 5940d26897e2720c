#!/usr/bin/env bash
# Runs fuzz harnesses one after the other, each until it has used SECONDS of processor time, and ends with one table, kept in
# BUILD/totals.txt as well. A harness that finds something leaves its input in BUILD and the others still run; then the exit code is 1.
#
#   tests/fuzz/run.sh BUILD SECONDS NAME…
set -u
export LC_ALL=C
build=$1 budget=$2
shift 2
cd "$(dirname "$0")/../.." || exit 2
rows=() finds=0
TIMEFORMAT='%3U %3S'

# stat_of LOG KEY: the value in the statistics at the end.
stat_of() {
    sed -n "s/^stat::$2: *//p" "$1" | tail -n 1
}

for name in "$@"; do
    seeds=tests/fuzz/corpus/$name log=$build/$name.log
    mkdir -p "$build/corpus/$name" "$seeds"
    echo "== $name, $budget s of processor time"
    used=0 inputs=0 result="not run"
    while rest=$(awk "BEGIN {r = $budget - $used; print (r > 0 ? int(r + 0.999) : 0)}") && [ "$rest" -gt 0 ]; do
        { time "$build/tests/fuzz-$name" -max_total_time="$rest" -timeout=20 -print_final_stats=1 -artifact_prefix="$build/$name-" \
            "$build/corpus/$name" "$seeds" >"$log" 2>&1; } 2>"$log.time"
        code=$?
        used=$(awk -v used="$used" 'END {print used + $1 + $2}' "$log.time")
        executed=$(stat_of "$log" number_of_executed_units)
        inputs=$((inputs + ${executed:-0}))
        if [ $code -ne 0 ]; then
            tail -n 40 "$log"
            result=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
            result=${result:-exit $code}
            finds=$((finds + 1))
            break
        fi
        result=clean
    done
    last=$(grep -a 'ft: ' "$log" | tail -n 1)
    features=$(sed -n 's/.* ft: \([0-9]*\).*/\1/p' <<<"$last")
    kept=$(sed -n 's/.* corp: \([0-9]*\).*/\1/p' <<<"$last")
    rows+=("$(printf '%-12s %12s %8.1f %10s %8s  %s' "$name" "$inputs" "$used" "${features:--}" "${kept:--}" "$result")")
done

{
    printf '%-12s %12s %8s %10s %8s  %s\n' harness inputs 'CPU s' features kept result
    printf '%s\n' "${rows[@]}"
} | tee "$build/totals.txt"
[ $finds -eq 0 ]
