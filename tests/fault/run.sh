#!/usr/bin/env bash
# Fails the calls of a command one by one, and expects a clean error each time: an exit code of our own with a message, never a signal,
# never a yes that is not the usual one, no half file and nothing temporary left, and what was there before still there.
#
#   tests/fault/run.sh BUILD BUNDLES        MOST=20 (REPLAY_FULL: 200): how many calls of each kind and command are failed, spread over all
set -u
export LC_ALL=C
build=$(cd "$1" && pwd) bundles=$(cd "$2" && pwd) top=$(cd "$(dirname "$0")/../.." && pwd)
sources=$top/artifacts/workloads/weight_view.small
replay=$build/replay
most=${MOST:-${REPLAY_FULL:+200}}
most=${most:-20}
work=$(mktemp -d "${TMPDIR:-/tmp}/replay-fault.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
mkdir keep out
log=keep/log
{ zstd -dcq "$top/tests/data/cublaslt-trace-pytorch-2.11.log.zst" || true; } 2>/dev/null | head -n 60 >$log
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

# spread TOTAL N: about N numbers up to it, and always itself: the end of a command is where most can be lost.
spread() {
    [ "$1" -eq 0 ] || { seq 1 $((($1 + $2 - 1) / $2)) "$1" && echo "$1"; } | sort -un
}

# each KINDS NAME OUTPUT COMMAND…
each() {
    local kinds=$1 name=$2 output=$3 kind total n
    shift 3
    "$@" >"usual.$name" 2>/dev/null || complain "$name" "does not even run"
    [ "$output" = - ] || cp "$output" "made.$name"
    for kind in $kinds; do
        FAULT=$kind:0 FAULT_COUNT=$work/count LD_PRELOAD=$build/tests/fault.so "$@" >/dev/null 2>&1
        read -r total <count
        for n in $(spread "$total" "$most"); do
            attempt "$kind" "$n" "$name" "$output" "$@"
        done
    done
}

each 'malloc read open' verify - "$replay" verify keep/b.tar.zst --quick --key keep/k.pub
each 'malloc read' single - "$replay" verify keep/one.tar.zst --quick
each 'malloc read open write sync rename short' sign out/e.json "$replay" sign keep/b.tar.zst --key keep/k.pem -o out/e.json
each 'malloc read write sync rename short' pack out/p.tar.zst "$replay" pack "$sources" -o out/p.tar.zst
each 'read write sync rename short' attest out/a.json "$replay" sign keep/b.tar.zst --key keep/k.pem --add keep/b.tar.zst.dsse.json -o out/a.json
# --- Signals. ---
# Every command that writes is sent SIGINT and SIGTERM around its calls, each call two moments. It dies of the signal, and leaves
# under the final name what was there or all of it, and no temporary name; of a run, nothing, all, or a partial folder that says so.

# sums_hold FOLDER: its list is there and whole.
sums_hold() {
    (cd "$1" && sha256sum -c --quiet SHA256SUMS >/dev/null 2>&1 && [ "$(find . -type f | wc -l)" -eq $(($(wc -l <SHA256SUMS) + 1)) ])
}

# What may be in out/ after it, one for each kind of output; a complaint on stdout, or nothing.
left_file() { # OUTPUT: a file, the time in it aside
    [ "$(head -c 6 "$1" | tr -d '\0')" = before ] || cmp -s <(grep -av '"time"' "$1") <(grep -av '"time"' "made.$name") || echo "half a file"
    [ "$(find out -type f | wc -l)" -eq 1 ] || echo "left: $(find out -type f | tr '\n' ' ')"
}
left_folder() { # OUTPUT: a folder of files, each of them whole
    local f
    find out -type f | while read -r f; do
        cmp -s "$f" "made.$name/${f#"$1"/}" || echo "half a file, or one that does not belong: $f"
    done
}
left_evidence() { # OUTPUT: evidence, complete or labelled
    [ -z "$(find out -name '*.tmp-*')" ] || echo "left: $(find out -name '*.tmp-*')"
    if [ -d "$1.partial" ]; then
        [ ! -e "$1" ] || echo "both names"
        sums_hold "$1.partial" && grep -q "\"status\": \"$partial\"" "$1.partial/evidence.json" && grep -q '"reason": "..*"' "$1.partial/evidence.json" ||
            echo "a partial folder without its label"
    elif [ -d "$1" ]; then
        sums_hold "$1" && ! grep -q "\"$partial\"" "$1/evidence.json" || echo "not whole under the final name"
    fi
}

# signalled NAME LEFT OUTPUT COMMAND…
signalled() {
    local name=$1 left=$2 output=$3 partial=interrupted kind death total n code said
    shift 3
    rm -rf out && mkdir out
    "$@" >/dev/null 2>&1 || complain "$name" "does not even run"
    rm -rf "made.$name" && cp -r "$output" "made.$name"
    for kind in int term; do
        death=$([ $kind = int ] && echo 130 || echo 143)
        rm -rf out && mkdir out
        FAULT=$kind:0 FAULT_COUNT=$work/count LD_PRELOAD=$build/tests/fault.so "$@" >/dev/null 2>&1
        read -r total <count
        for n in $(spread "$total" $((most / 2))); do
            rm -rf out && mkdir out
            [ "$left" != left_file ] || echo before >"$output"
            tried=$((tried + 1))
            # As at a terminal, also where this script is in the background. The braces keep what the shell says of the death.
            { env --default-signal=INT,TERM FAULT="$kind:$n" LD_PRELOAD="$build/tests/fault.so" "$@" >found 2>message; } 2>/dev/null
            code=$?
            [ $code -eq "$death" ] || complain "$kind:$n $name" "exit $code: $(head -c 300 message)"
            said=$($left "$output")
            [ -z "$said" ] || complain "$kind:$n $name" "$said"
            sha256sum -c --quiet sums >/dev/null 2>&1 || complain "$kind:$n $name" "an input was changed"
        done
    done
}

run=("$replay" run keep/b.tar.zst --device emu --phases 2 --out out/ev)
signalled pack left_file out/p.tar.zst "$replay" pack "$sources" -o out/p.tar.zst
signalled sign left_file out/e.json "$replay" sign keep/b.tar.zst --key keep/k.pem -o out/e.json
signalled attest left_file out/a.json "$replay" attest keep/b.tar.zst --quick -o out/a.json
signalled import left_folder out/log "$replay" import cublaslt-log "$log" -o out/log
signalled run left_evidence out/ev "${run[@]}"

# A run that an error ends says so, and does not call it an interrupt.
partial=incomplete
for kind in write sync rename; do
    rm -rf out && mkdir out
    FAULT=$kind:0 FAULT_COUNT=$work/count LD_PRELOAD=$build/tests/fault.so "${run[@]}" >/dev/null 2>&1
    read -r total <count
    for n in $(spread "$total" $((most / 2))); do
        rm -rf out && mkdir out
        tried=$((tried + 1))
        FAULT=$kind:$n LD_PRELOAD=$build/tests/fault.so "${run[@]}" >found 2>message
        code=$?
        # A worker's answer that could not be kept costs its phase (4) or the run (3); what the device lacks is 0 of who asked for the emulator.
        [ $code -eq 3 ] || [ $code -eq 4 ] || { [ $code -eq 0 ] && [ -d out/ev ]; } || complain "$kind:$n run" "exit $code: $(head -c 300 message)"
        [ -s message ] || [ $code -ne 3 ] || complain "$kind:$n run" "exit $code without a message"
        said=$(left_evidence out/ev)
        [ -z "$said" ] || complain "$kind:$n run" "$said"
    done
done
echo "faults: $tried injected, $failed not handled"
[ $failed -eq 0 ] && [ $tried -gt 0 ]
