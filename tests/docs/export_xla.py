#!/usr/bin/env python3
"""The second example of docs/exporting.md: the library calls of an XLA module, from its dump, as the sources of a bundle.

    tests/docs/export_xla.py DUMP MODULE FOLDER         DUMP as --xla_dump_to wrote it; MODULE such as module_4634.jit_mlp
"""
import glob
import hashlib
import json
import os
import re
import sys

WORKSPACE = 33554432
DTYPES = {"f16": "f16", "bf16": "bf16", "f32": "f32"}
dump, module, folder = sys.argv[1:4]


def text(end):
    (path,) = [p for p in glob.glob(os.path.join(dump, module + ".*")) if p.endswith(end)]
    with open(path, encoding="utf-8") as f:
        return f.read()


# -- What the dump says: places in memory, shapes, and the library calls in the order of the schedule.
places, allocation = {}, None
for line in text("-buffer-assignment.txt").splitlines():
    if m := re.match(r"allocation (\d+): size (\d+)", line):
        allocation = {"bytes": int(m[2]), "temporary": "preallocated-temp" in line}
    elif m := re.match(r" value: <\d+ (\S+) @\d+> \(size=(\d+),offset=(\d+)\)", line):
        places[m[1]] = dict(allocation, size=int(m[2]), offset=int(m[3]))
entry = text("after_optimizations.txt").split("\nENTRY ")[1]
shapes = {m[1]: (DTYPES[m[2]], [int(n) for n in m[3].split(",")])
          for m in re.finditer(r"%(\S+) = \(?(f16|bf16|f32)\[([\d,]+)\]", entry)}
calls = []
for m in re.finditer(r"%(\S+) = \S+ \S+ custom-call\(%([^#,)]+)\S* %([^#,)]+)\S* "
                     r'custom_call_target="__cublas\$lt\$matmul".*"epilogue":"DEFAULT"', entry):
    lhs, rhs = (re.search(r'"%s_contracting_dimensions":\["(\d)"\]' % side, m[0])[1] for side in ("lhs", "rhs"))
    calls.append({"d": m[1], "lhs": m[2], "rhs": m[3], "trans_lhs": lhs == "0", "trans_rhs": rhs == "1"})

# -- The plan: results of library calls are made in XLA's arena; whatever else they read is an input.
results = [c["d"] for c in calls]
arena = [r for r in results if places[r + "{0}"]["temporary"]]
inputs = list(dict.fromkeys(n for c in calls for n in (c["lhs"], c["rhs"]) if n not in results))
files = {}


def ident(name):
    return re.sub(r"\W", "_", name)


def layout(shape):
    return {"shape": shape, "spellings": [{"kind": "right_major"}]}


def matrix(name, rows, cols, order):
    return {"type": shapes[name][0], "rows": rows, "cols": cols, "ld": cols if order == "row" else rows, "order": order}


def slot(port, name, m):
    strides = [m["ld"], 1] if m["order"] == "row" else [1, m["ld"]]
    return {"port": port, "buffer": ident(name), "layout": {"shape": [m["rows"], m["cols"]], "spellings": [{"kind": "strided", "strides": strides}]}}


def buffer(name):
    dtype, shape = shapes[name]
    return {"id": ident(name), "label": ident(name), "owner": "system" if name in arena else "caller", "freed_by": "caller",
            "access": "rw" if name in results else "ro", "dtype": dtype, "layout": layout(shape)}


nodes = [{"op": "input", "slots": [{"value": ident(n), "buffer": ident(n)} for n in inputs]}]
edges, made, bound, described = [], {n: 0 for n in inputs}, [], []
ranges = [{"name": "parameters", "first_step": 0, "end_step": None, "offset_bytes": None, "bytes": 8}]
for c in calls:
    (_, (m, n)), (_, lhs), (_, rhs) = shapes[c["d"]], shapes[c["lhs"]], shapes[c["rhs"]]
    k = lhs[0] if c["trans_lhs"] else lhs[1]
    if c["d"] in arena:
        place = places[c["d"] + "{0}"]
        ranges.append({"name": ident(c["d"]), "first_step": len(nodes), "end_step": None, "offset_bytes": place["offset"], "bytes": place["size"]})
        edges.append((len(nodes), len(nodes) + 1, c["d"], "alloc"))
        nodes.append({"op": "alloc", "buffer": ident(c["d"])})
    at = len(nodes)
    ranges.append({"name": "workspace@%d" % at, "first_step": at, "end_step": at + 1, "offset_bytes": places[c["d"] + "{1}"]["offset"], "bytes": WORKSPACE})
    # XLA makes the result column-major: D^T = B^T A^T, the operands in each other's place and none transposed.
    a = matrix(c["rhs"], n, k, "row" if c["trans_rhs"] else "col")
    b = matrix(c["lhs"], k, m, "row" if c["trans_lhs"] else "col")
    d = matrix(c["d"], n, m, "col")
    nodes.append({"op": "matmul", "label": ident(c["d"]), "workspace_bytes": WORKSPACE,
                  "operands": [slot("a", c["rhs"], a), slot("b", c["lhs"], b)], "destination": slot("dest", c["d"], d)})
    edges += [(made[c["rhs"]], at, c["rhs"], "a"), (made[c["lhs"]], at, c["lhs"], "b")]
    if described:
        edges.append((described[-1]["node"], at, c["d"], "reuse"))  # one workspace after the other, in the same bytes
    made[c["d"]] = at
    call = {"node": at, "a": a, "b": b, "c": d, "d": d, "trans_a": False, "trans_b": False, "compute": "32f", "scale": "f32",
            "epilogue": "default", "workspace_bytes": WORKSPACE}
    described.append(call)
    bound.append(dict(call, bias=None, alpha=1, beta=0, **{o: dict(call[o], buffer=ident(n))
                                                          for o, n in zip("abcd", (c["rhs"], c["lhs"], c["d"], c["d"]))}))
nodes.append({"op": "output", "slots": [{"value": ident(r), "buffer": ident(r), "layout": layout(shapes[r][1])} for r in results]})
edges += [(made[r], len(nodes) - 1, r, "out %d" % i) for i, r in enumerate(results)]

# -- The arena: XLA's offsets; the parameter block, which is ours, behind them.
SLAB = max(places[r + "{1}"]["bytes"] for r in results) + 255 & ~255
ranges[0].update(offset_bytes=SLAB, end_step=len(nodes))
for r in ranges:
    r["end_step"] = r["end_step"] or len(nodes)
peak = max(256 + sum(r["bytes"] + 255 & ~255 for r in ranges[1:] if r["first_step"] <= i < r["end_step"]) for i in range(len(nodes)))


def tensors(**more):
    return [dict(name=ident(n), dtype=shapes[n][0], shape=shapes[n][1], **more) for n in inputs]


files["plan/plan.json"] = {
    "format": "replay-plan/1", "name": module, "policy": {"resolver": "given", "arena": "given", "renderer": "opaque"}, "symbols": [],
    "buffers": [buffer(n) for n in inputs + results], "nodes": nodes,
    "edges": [{"from": f, "to": t, "buffer": ident(n), "port": port, "kind": "data"} for f, t, n, port in edges]}
files["plan/arena.json"] = {"format": "replay-arena/1", "slab_bytes": SLAB + 256, "peak_live_bytes": peak, "ranges": ranges}
files["plan/resolved_calls.json"] = {"format": "replay-calls/1", "calls": bound}
files["plan/typed_ops.json"] = {"ops": ["__cublas$lt$matmul " + r for r in results]}
files["plan/buffer_ir.txt"] = "".join("%(d)s = matmul(%(lhs)s, %(rhs)s)\n" % c for c in calls)
files["reference.json"] = {
    "format": "replay-reference/1", "inputs": tensors(),
    "nodes": [{"id": ident(c["d"]), "op": "matmul", "a": ident(c["lhs"]), "b": ident(c["rhs"]), "transpose_a": c["trans_lhs"], "transpose_b": c["trans_rhs"]} for c in calls],
    "outputs": [{"name": ident(r), "value": ident(r), "dtype": shapes[r][0]} for r in results]}
files["fixtures/integers.json"] = {"format": "replay-recipe/1", "fixture": "integers", "seed": 1, "purpose": "Small integers, exact at every step.",
                                   "tensors": tensors(generator="uniform", low=-5, high=5, shift=0)}
files["contract.json"] = {
    "format": "replay-contract/1", "tolerances": [{"output": ident(r), "atol": 0, "rtol": 0} for r in results],
    "fixtures": [{"name": "integers", "applies": True, "property": "Exact at every step."}],
    "checks_per_phase": len(results), "phases": 5, "checks_total": 5 * len(results),
    "accuracy": {"class": "reference_exact", "measured_k": [c["a"]["cols"] for c in described], "growth": "Exact below 2^24."},
    "determinism": {"claimed": False, "reason": "Not examined."},
    "architecture": {"kernels_sm": 75, "library_sm": 80, "claim": "The library's own kernels."},
    "dispatch": [{"name": "matmul", "symbol": "cublasLtMatmul", "family": "library_matmul", "dtypes": [shapes[calls[0][o]][0] for o in ("lhs", "rhs", "d")]}]}
packed = {p: v.encode() if isinstance(v, str) else (json.dumps(v, indent=2) + "\n").encode() for p, v in files.items()}

# -- What is not in the dump is said: the code of the other kernels, above all.
thunks = [line.split("] ")[1] for line in text(".thunk_sequence.txt").splitlines() if ": kCublasLtMatmul" not in line]
packed["capture.json"] = json.dumps({
    "format": "replay-capture/1", "workload": module, "producer": {"program": "tests/docs/export_xla.py"}, "original": {}, "device": {"name": "not read"},
    "driver": {}, "libraries": [], "memcpy": [], "timings": [], "published": {"figures": []},
    "files": [{"path": p, "sha256": hashlib.sha256(packed[p]).hexdigest()} for p in sorted(packed)],
    "arena": {"slab_bytes": SLAB + 256, "ranges": [{k: r[k] for k in ("name", "offset_bytes", "bytes")} for r in ranges]},
    "calls": described,
    "kernels": [{"name": "", "node": c["node"], "grid": [0, 0, 0], "block": [0, 0, 0], "dynamic_shared_bytes": 0} for c in described],
    "not_observed": [{"what": t, "reason": "omitted: the dump has no code of it"} for t in thunks],
}, indent=2).encode()
for path, data in packed.items():
    full = os.path.join(folder, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "wb") as f:
        f.write(data)
