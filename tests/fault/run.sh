#!/usr/bin/env bash
# Fails the calls of a command one by one, and expects a clean error each time: an exit code of our own with a message, never a signal,
# never a yes that is not the usual one, no half file and nothing temporary left, and what was there before still there.
#
#   tests/fault/run.sh BUILD BUNDLES        MOST=20 (REPLAY_FULL: 200): how many calls of each kind and command are failed, spread over all
set -u
export LC_ALL=C
build=$(cd "$1" && pwd) bundles=$(cd "$2" && pwd) sources=$(cd "$(dirname "$0")/../.." && pwd)/artifacts/workloads/weight_view.small
replay=$build/replay
most=${MOST:-${REPLAY_FULL:+200}}
most=${most:-20}
work=$(mktemp -d "${TMPDIR:-/tmp}/replay-fault.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir keep out
cp "$bundles/weight_view.small.tar.zst" keep/b.tar.zst
openssl genpkey -algorithm ed25519 -out keep/k.pem 2>/dev/null && openssl pkey -in keep/k.pem -pubout -out keep/k.pub || exit 2
"$replay" sign keep/b.tar.zst --key keep/k.pem -o keep/b.tar.zst.dsse.json >/dev/null || exit 2
zstd -dcq keep/b.tar.zst | zstd -q -o keep/one.tar.zst
sha256sum keep/* >sums
export REPLAY_GPU=$work/no-worker
tried=0 failed=0
complain() {
    echo "FAIL $1: $2"
    failed=$((failed + 1))
}

# attempt KIND N NAME OUTPUT COMMAND…: OUTPUT is the file that the command makes, or -.
attempt() {
    local kind=$1 n=$2 name=$3 output=$4 code
    shift 4
    tried=$((tried + 1))
    rm -rf out && mkdir out
    [ "$output" = - ] || echo before >"$output"
    FAULT=$kind:$n LD_PRELOAD=$build/tests/fault.so "$@" >found 2>message
    code=$?
    if [ $code -ge 128 ] || [ $code -eq 70 ]; then
        complain "$kind:$n $name" "exit $code: $(head -c 300 message)"
    elif [ $code -eq 0 ]; then
        cmp -s found "usual.$name" || complain "$kind:$n $name" "exit 0 with another output"
        if [ "$output" != - ] && ! cmp -s "$output" "made.$name"; then complain "$kind:$n $name" "exit 0 with another file"; fi
    elif [ $code -eq 1 ] && ! grep -aq 'out of memory' found message; then
        complain "$kind:$n $name" "a rejection: $(grep -ah finding found message | head -n 2)"
    elif [ ! -s message ] && ! grep -aq 'out of memory' found; then
        complain "$kind:$n $name" "exit $code without a message"
    fi
    if [ "$output" != - ] && [ $code -ne 0 ] && [ "$(head -c 6 "$output" 2>/dev/null | tr -d "\0")" != before ] && ! cmp -s "$output" "made.$name"; then
        complain "$kind:$n $name" "what was there is lost, or half written"
    fi
    # Where the clean-up itself is what fails, something may stay.
    if [ "$(find out -type f | wc -l)" -gt 1 ]; then complain "$kind:$n $name" "left: $(find out -type f | tr '\n' ' ')"; fi
    sha256sum -c --quiet sums >/dev/null 2>&1 || complain "$kind:$n $name" "an input was changed"
}

# each KINDS NAME OUTPUT COMMAND…
each() {
    local kinds=$1 name=$2 output=$3 kind total step n
    shift 3
    "$@" >"usual.$name" 2>/dev/null || complain "$name" "does not even run"
    [ "$output" = - ] || cp "$output" "made.$name"
    for kind in $kinds; do
        FAULT=$kind:0 FAULT_COUNT=$work/count LD_PRELOAD=$build/tests/fault.so "$@" >/dev/null 2>&1
        read -r total <count
        step=$(((total + most - 1) / most))
        [ $step -gt 0 ] || step=1
        for ((n = 1; n <= total; n += step)); do
            attempt "$kind" $n "$name" "$output" "$@"
        done
    done
}

each 'malloc read open' verify - "$replay" verify keep/b.tar.zst --quick --key keep/k.pub
each 'malloc read' single - "$replay" verify keep/one.tar.zst --quick
each 'malloc read open write sync rename short' sign out/e.json "$replay" sign keep/b.tar.zst --key keep/k.pem -o out/e.json
each 'malloc read write sync rename short' pack out/p.tar.zst "$replay" pack "$sources" -o out/p.tar.zst
each 'read write sync rename short' attest out/a.json "$replay" sign keep/b.tar.zst --key keep/k.pem --add keep/b.tar.zst.dsse.json -o out/a.json
# Killed at some moment: what was there, or all of it. A temporary file may stay, under its own name.
for delay in 0 0.002 0.005 0.01 0.02 0.04 0.08 0.16; do
    rm -rf out && mkdir out && echo before >out/p.tar.zst
    "$replay" pack "$sources" -o out/p.tar.zst >/dev/null 2>&1 &
    sleep $delay
    kill -TERM $! 2>/dev/null
    wait $! 2>/dev/null
    tried=$((tried + 1))
    [ "$(cat out/p.tar.zst | head -c 6 | tr -d '\0')" = before ] || cmp -s out/p.tar.zst made.pack || complain "killed after $delay s" "half a file"
done
echo "faults: $tried injected, $failed not handled"
[ $failed -eq 0 ] && [ $tried -gt 0 ]
