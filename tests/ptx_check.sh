#!/usr/bin/env bash
# Every kernel of every bundle compiled again and compared with its PTX and record, as `replay verify` does it.
#
#   tests/ptx_check.sh BUILD
set -u
build=$1 passed=0 failed=0 skipped=0
for bundle in "$build"/bundles/*.tar.zst; do
    line=$(REPLAY_GPU=$build/replay-gpu "$build/replay" verify "$bundle" | grep -E '^kernels\.recompiled ')
    echo "$(basename "$bundle"): $line"
    case $line in
    "kernels.recompiled "*" passed "*" 0 sources "*) failed=$((failed + 1)) ;;
    "kernels.recompiled "*" passed "*) passed=$((passed + 1)) ;;
    "kernels.recompiled "*" not_checkable "*) skipped=$((skipped + 1)) ;;
    *) failed=$((failed + 1)) ;;
    esac
done
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
