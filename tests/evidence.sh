#!/usr/bin/env bash
# Every committed evidence folder, audited: all verdicts recomputed, and its bundle the one whose root is pinned.
#
#   tests/evidence.sh BUILD
set -u
build=$1 passed=0 failed=0
for dir in artifacts/evidence/*/; do
    dir=${dir%/}
    root=$(awk -v name="$(basename "$dir")" '$1 == name { print "--root sha256:" $2 }' tests/data/roots.txt)
    # shellcheck disable=SC2086 # two words or none
    "$build/replay" audit "$dir" $root >/dev/null
    code=$?
    # A rejection that was really seen is evidence too: the folder says which exit its audit has.
    want=$(cat "$dir.exit" 2>/dev/null || echo 0)
    if [ "$code" = "$want" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$dir: audit exits with $code, expected $want"
        "$build/replay" audit "$dir" $root | grep finding
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
