#!/usr/bin/env python3
"""Host time of one synchronized call of the weight_view plan, three ways in one run on one GPU, interleaved:

  bare    tests/capture: a C loop around cudaGraphLaunch and cudaStreamSynchronize
  replay  replay run --phases 3: the median of medians of its two timing processes
  torch   tests/bench/torch_graph.py: PyTorch's CUDA-graph replay of the same three operations

Prints each round, then the median of rounds and both ratios as JSON. Needs a GPU, and PyTorch for the third.

usage: gpu_ratio.py BUILD_DIR BUNDLE [ROUNDS]"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

SCOPE = "host_graph_launch_sync"
HERE = pathlib.Path(__file__).parent


def last_json(text):
    """The JSON document that the output ends in; the library's own log may precede it."""
    at = text.find("\n{\n")
    return json.loads(text[at + 1 :] if at >= 0 else text[text.rfind("\n{") + 1 :])


def bare(build):
    out = subprocess.run(
        [build / "tests/capture", HERE.parent.parent / "artifacts/workloads/weight_view", "--bench"],
        check=True, capture_output=True, text=True).stdout
    return next(t["median_ps"] for t in last_json(out)["timings"] if t["scope"] == SCOPE)


def replay(build, bundle):
    with tempfile.TemporaryDirectory() as tmp:
        out = subprocess.run([build / "replay", "run", bundle, "--phases", "3", "--out", tmp + "/e", "--json"],
                             check=True, capture_output=True, text=True).stdout
    return next(t["median_ps"] for t in json.loads(out)["record"]["timings"] if t["scope"] == SCOPE)


def torch():
    run = subprocess.run([sys.executable, HERE / "torch_graph.py"], capture_output=True, text=True)
    return json.loads(run.stdout.strip().splitlines()[-1])["median_ns"] * 1000 if run.returncode == 0 else None


def main():
    build, bundle = pathlib.Path(sys.argv[1]), sys.argv[2]
    rounds = []
    for i in range(int(sys.argv[3]) if len(sys.argv) > 3 else 3):
        r = {"bare_ps": bare(build), "replay_ps": replay(build, bundle), "torch_ps": torch()}
        rounds.append(r)
        print(f"round {i + 1}: " + ", ".join(f"{k[:-3]} {v / 1e6:.2f} us" for k, v in r.items() if v), file=sys.stderr)
    median = {k: statistics.median(r[k] for r in rounds) if all(r[k] for r in rounds) else None for k in rounds[0]}
    print(json.dumps({
        "scope": SCOPE,
        "rounds": rounds,
        "median": median,
        "replay_over_bare": median["replay_ps"] / median["bare_ps"],
        "replay_over_torch": median["replay_ps"] / median["torch_ps"] if median["torch_ps"] else None,
    }, indent=2))


main()
