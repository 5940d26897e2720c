#!/usr/bin/env python3
"""Generate every fixture again from its recipe, evaluate the reference with NumPy, and compare with tests/plan/digests.txt.

Written from docs/fixtures.md alone: NumPy's own float16 rounding and matmul stand where the C has its own. Then every 8 and 16-bit
value, and what rounds to it, by NumPy and ml_dtypes against artifacts/base/dtype.c, compiled here with $CC (cc). Needs NumPy; ml_dtypes
for BF16 and FP8. Run from the top of the repository."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("check_numpy: skipped, no NumPy")
    sys.exit(0)

U = np.uint64
GAMMA, M1, M2 = U(0x9E3779B97F4A7C15), U(0xBF58476D1CE4E5B9), U(0x94D049BB133111EB)


def word(key, counter):
    z = U(key) + (np.asarray(counter, U) + U(1)) * GAMMA
    z = (z ^ z >> U(30)) * M1
    z = (z ^ z >> U(27)) * M2
    return z ^ z >> U(31)


def between(w, low, high):
    return low + ((w >> U(32)) * U(high - low + 1) >> U(32)).astype(np.int64)


def values(g, key, shape, origin, extent):
    """Of one box of the tensor, as FP64 (exact: integers below 2^53 times a power of two)."""
    if g["generator"] == "concat":
        out, at, a = [], list(origin), g["axis"]
        for part in g["parts"]:
            box = extent[:a] + [part["extent"]] + extent[a + 1:]
            out.append(values(part, key, shape, list(at), box))
            at[a] += part["extent"]
        return np.concatenate(out, axis=a)
    index = [o + np.arange(n).reshape([-1 if i == a else 1 for i in range(len(shape))])
             for a, (o, n) in enumerate(zip(origin, extent))]
    linear = sum(ix * int(np.prod(shape[a + 1:])) for a, ix in enumerate(index)).astype(U)
    kind = g["generator"]
    if kind == "constant":
        v = np.full(extent, g["value"], np.int64)
    elif kind == "uniform":
        v = between(word(key, linear * U(4)), g["low"], g["high"])
    elif kind == "normal":
        total = np.zeros(extent, np.int64)
        for lane in range(3):
            w = word(key, linear * U(4) + U(lane))
            for part in range(4):
                total += (w >> U(16 * part) & U(0xFFFF)).astype(np.int64)
        v = g["numerator"] * (2 * total - 12 * 65535)
    elif kind == "affine":
        v = g["times"] * (g["base"] + (g["offset"] + sum(s * ix for s, ix in zip(g["steps"], index))) % g["modulus"])
        v = np.broadcast_to(v, extent)
    elif kind == "combine":
        n = extent[-1]
        m = len(g["terms"][0]["pattern"])
        c, blocks = np.arange(n), n // m
        if g["fold"]:
            entry = c // blocks
            block = np.where(entry % 2, blocks - 1 - c % blocks, c % blocks)
            first = block
        else:
            entry, block = c % m, c // m
            first = block * m
        row = linear[..., :1]
        v = np.zeros(extent, np.int64)
        for lane, t in enumerate(g["terms"]):
            d = between(word(key, (row + first.astype(U)) * U(4) + U(lane)), t["low"], t["high"])
            v = v + np.where(block % t["every"] == 0, np.array(t["pattern"])[entry] * d, 0)
    return v.astype(np.float64) * 2.0 ** g["shift"]


def generate(seed, index, g):
    key, shape = word(seed, index), g["shape"]
    turned = shape[::-1] if g.get("transposed") else shape
    v = values(g, key, turned, [0] * len(shape), turned)
    return (v.T if g.get("transposed") else v).astype("<f2")


def evaluate(reference, inputs):
    """Each node in FP64, rounded where it says f16. NumPy sums in an order of its own: see docs/fixtures.md on why that gives the same bits."""
    t = {n: v.astype(np.float64) for n, v in inputs.items()}
    for n in reference["nodes"]:
        a, b = t[n["a"]], t.get(n.get("b"))
        if n["op"] == "matmul":
            v = (a.T if n.get("transpose_a") else a) @ (b.T if n.get("transpose_b") else b)
        elif n["op"] == "relu":
            v = np.maximum(a, 0) + 0.0
        else:
            v = a + b if n["op"] == "add" else a * b
        t[n["id"]] = v.astype(np.float16).astype(np.float64)
    return {o["name"]: t[o["value"]].astype("<f2") for o in reference["outputs"]}


def check_fixtures():
    want = dict((tuple(l.split()[:3]), l.split()[3]) for l in open("tests/plan/digests.txt"))
    bad = 0
    for folder in sorted({k[0] for k in want}):
        root = pathlib.Path("artifacts/workloads", folder)
        reference = json.load(open(root / "reference.json"))
        for path in sorted(root.glob("fixtures/*.json")):
            recipe = json.load(open(path))
            inputs = {g["name"]: generate(recipe["seed"], i, g) for i, g in enumerate(recipe["tensors"])}
            for name, v in {**inputs, **evaluate(reference, inputs)}.items():
                if hashlib.sha256(np.ascontiguousarray(v).tobytes()).hexdigest() != want.pop((folder, path.stem, name), None):
                    print("differs:", folder, path.stem, name)
                    bad += 1
    for left in want:
        print("no such tensor:", *left)
    return bad + len(want)


ROUND = """
#include "artifacts/base/dtype.h"
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
    int t = 0;
    double v;
    unsigned char out[8];
    while (argc == 2 && dtype_names[t] && strcmp(dtype_names[t], argv[1]))
        t++;
    while (fread(&v, sizeof v, 1, stdin) == 1) {
        dtype_store((dtype)t, out, 0, v);
        fwrite(out, dtype_bytes((dtype)t), 1, stdout);
    }
    return 0;
}
"""


def check_rounding():
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "round.c"), str(pathlib.Path(folder, "round"))
        source.write_text(ROUND)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-I.", "-o", program, str(source), "artifacts/base/dtype.c"], check=True)
        return compare_rounding(program)


def compare_rounding(program):
    """All values of a type, the ties between neighbours and an FP64 step to each side, both signs, and beyond the largest."""
    types = {"f16": (np.float16, np.uint16), "f32": (np.float32, np.uint32)}
    try:
        import ml_dtypes as ml
        types.update(bf16=(ml.bfloat16, np.uint16), f8_e4m3=(ml.float8_e4m3fn, np.uint8), f8_e5m2=(ml.float8_e5m2, np.uint8))
    except ImportError:
        print("check_numpy: no ml_dtypes, BF16 and FP8 are not compared")
    bad = 0
    for name, (t, bits) in types.items():
        if name == "f32":
            v = np.random.default_rng(1).integers(0, 2**32, 200000, dtype=np.uint64).astype(np.uint32).view(t).astype(np.float64)
            v = np.sort(v[np.isfinite(v)])
        else:
            v = np.arange(256 if bits is np.uint8 else 65536, dtype=bits).view(t).astype(np.float64)
            v = np.unique(v[np.isfinite(v)])
        ties = (v[1:] + v[:-1]) / 2
        top = 2 * v[-1] - v[-2]
        more = np.array([(v[-1] + top) / 2, top, 1e300, np.inf, 5e-324, 0.0, -0.0])
        x = np.concatenate([v, ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf), more, np.nextafter(more, 0), -more])
        # Both packages go by way of F32 for BF16 and FP8, hence only what F32 holds.
        if name not in ("f16", "f32"):
            x = x[~(np.abs(x) > 0) | (x.astype(np.float32).astype(np.float64) == x)]
        got = np.frombuffer(subprocess.run([program, name], input=x.tobytes(), capture_output=True, check=True).stdout, bits)
        want = x.astype(t).view(bits)
        differ = np.flatnonzero(got != want)
        print(f"check_numpy: {name}: {len(x)} values, {len(differ)} differ")
        for i in differ[:5]:
            print(f"  {x[i].hex()}: {got[i]:x}, NumPy {want[i]:x}")
        bad += len(differ)
    return bad


def main():
    bad = check_fixtures()
    if subprocess.run([sys.executable, "tests/capture/plans.py", "--check"]).returncode:
        bad += 1
    bad += check_rounding()
    print("check_numpy:", "failed" if bad else "passed")
    return 1 if bad else 0


if __name__ == "__main__":
    np.seterr(over="ignore", invalid="ignore")
    sys.exit(main())
