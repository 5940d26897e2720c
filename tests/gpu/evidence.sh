#!/usr/bin/env bash
# On a GPU: the evidence that this repository keeps and quotes, made by the tool itself, and the ratios beside it.
#
#   tests/gpu/evidence.sh BUILD OUT
#
# OUT gets weight_view.tar, weight_view.small.tar (one run of five phases each), screen.tar (the ten workloads and one pair, as a
# campaign), pytorch.tar and transformers.tar (the calls of the two logs in tests/data, imported, a campaign each) and ratio.json
# (tests/bench/gpu_ratio.py). Unpacked under artifacts/evidence/, with NAME.exit where an audit does not exit 0.
set -u
build=$1 out=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/replay-evidence.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
bundles=$build/bundles ten=()
for name in bias gemm input_scale output_scale projection_chain projection_join public_projection relu residual weight_view; do
    ten+=("$bundles/$name.tar.zst")
done

keep() { # NAME: what was made, packed
    [ -d "$work/$1" ] || { echo "$1: no evidence"; return 1; }
    "$build/replay" audit "$work/$1" >"$work/audit.txt"
    echo "$1: audit exits with $?"
    tail -n 3 "$work/audit.txt"
    tar -C "$work" -cf "$out/$1.tar" "$1"
}

for name in weight_view weight_view.small; do
    start=$SECONDS
    "$build/replay" run "$bundles/$name.tar.zst" --phases 5 --device gpu --out "$work/$name"
    echo "$name: run exits with $?, $((SECONDS - start)) s"
    keep "$name"
done
start=$SECONDS
"$build/replay" run "${ten[@]}" --pair "$bundles/weight_view.fp32.tar.zst" "$bundles/weight_view.tar.zst" --phases 5 --device gpu --out "$work/screen"
echo "screen: run exits with $?, $((SECONDS - start)) s"
keep screen
for log in pytorch-2.11 transformers-bert-gpt2; do
    name=${log%%-*}
    "$build/replay" import cublaslt-log "tests/data/cublaslt-trace-$log.log.zst" -o "$work/calls"
    calls=()
    for call in "$work"/calls/call-*; do
        "$build/replay" pack "$call" -o "$call.tar.zst" >/dev/null && calls+=("$call.tar.zst")
    done
    start=$SECONDS
    "$build/replay" run "${calls[@]}" --phases 5 --device gpu --out "$work/$name"
    echo "$name: run exits with $?, $((SECONDS - start)) s"
    keep "$name"
    rm -rf "$work/calls"
done
python3 tests/bench/gpu_ratio.py "$build" "$bundles/weight_view.tar.zst" 3 >"$out/ratio.json"
cat "$out/ratio.json"
