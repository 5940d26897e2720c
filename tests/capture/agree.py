#!/usr/bin/env python3
"""Whether the plans as tests/capture/workloads.c states them and as the workload folders hold them are the same: arena, library
calls, launches. Neither was made from the other; needs CUDA's libraries, no GPU.

usage: agree.py CAPTURE WORKLOAD_DIR..."""
import json
import pathlib
import subprocess
import sys


def differences(said, folder):
    plan, arena, calls = (json.loads((folder / "plan" / name).read_text()) for name in ("plan.json", "arena.json", "resolved_calls.json"))
    pick = lambda r: (r["name"], r["offset_bytes"], r["bytes"])
    yield "slab", said["arena"]["slab_bytes"], arena["slab_bytes"]
    yield "ranges", [pick(r) for r in said["arena"]["ranges"]], [pick(r) for r in arena["ranges"]]
    yield "calls", len(said["calls"]), len(calls["calls"])
    for a, b in zip(said["calls"], calls["calls"]):
        for key in ("node", "trans_a", "trans_b", "compute", "scale", "epilogue", "workspace_bytes"):
            yield f"call {a['node']} {key}", a[key], b[key]
        for m in "abcd":
            yield f"call {a['node']} {m}", a[m], {k: v for k, v in b[m].items() if k != "buffer"}
    launches = [
        {
            "node": i,
            "source": n["source"].removeprefix("kernels/").removesuffix(".cu"),
            "arguments": [o["buffer"] for o in n["operands"]] + [n["destination"]["buffer"]],
            "grid": n["grid"],
            "block": n["block"],
        }
        for i, n in enumerate(plan["nodes"])
        if n["op"] == "kernel"
    ]
    yield "launches", said["launches"], launches


def main():
    program, bad = sys.argv[1], 0
    for folder in map(pathlib.Path, sys.argv[2:]):
        said = json.loads(subprocess.run([program, str(folder), "--describe"], check=True, capture_output=True).stdout)
        for what, ours, theirs in differences(said, folder):
            if ours != theirs:
                print(f"{folder.name}: {what}: the capture says {ours}, the folder {theirs}")
                bad += 1
    print(f"{len(sys.argv) - 2} plans, {bad} differences")
    sys.exit(bad > 0)


main()
