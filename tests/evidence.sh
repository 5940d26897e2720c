#!/usr/bin/env bash
# Every committed evidence folder, audited: all verdicts recomputed, and its bundle the one whose root is pinned.
#
#   tests/evidence.sh BUILD
set -u
build=$1 passed=0 failed=0
# Under sanitizers the small one alone: the same code over fewer bytes.
dirs=(artifacts/evidence/*/)
[ -z "${REPLAY_SANITIZED-}" ] || dirs=(artifacts/evidence/weight_view.small/)
for dir in "${dirs[@]}"; do
    dir=${dir%/}
    root=$(awk -v name="$(basename "$dir")" '$1 == name { print "sha256:" $2 }' tests/data/roots.txt)
    audit=("$build/replay" audit "$dir" ${root:+--root "$root"})
    "${audit[@]}" >/dev/null
    code=$?
    # A rejection that was really seen is evidence too: the folder says which exit its audit has.
    want=$(cat "$dir.exit" 2>/dev/null || echo 0)
    if [ "$code" = "$want" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "$dir: audit exits with $code, expected $want"
        "${audit[@]}" | grep finding
    fi
done
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
