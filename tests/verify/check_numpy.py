#!/usr/bin/env python3
"""Generate every fixture again from its recipe, evaluate the reference with NumPy, and compare with tests/plan/digests.txt.

Written from docs/fixtures.md alone: NumPy's own float16 rounding and matmul stand where the C has its own. Needs NumPy."""
import hashlib
import json
import pathlib
import sys

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


def main():
    want = dict((tuple(l.split()[:3]), l.split()[3]) for l in open("tests/plan/digests.txt"))
    bad = 0
    for folder in ("weight_view", "weight_view.small"):
        for path in sorted(pathlib.Path("artifacts/workloads", folder, "fixtures").glob("*.json")):
            recipe, t = json.load(open(path)), {}
            for i, g in enumerate(recipe["tensors"]):
                key = word(recipe["seed"], i)
                v = values(g, key, g["shape"], [0] * len(g["shape"]), g["shape"])
                t[g["name"]] = v.astype("<f2")
            x, wt, bias = (t[n].astype(np.float64) for n in ("x", "wt", "bias"))
            projection = (x @ wt.T).astype(np.float16).astype(np.float64)
            t["y"] = (projection + bias).astype("<f2")
            for name, v in t.items():
                if hashlib.sha256(v.tobytes()).hexdigest() != want.pop((folder, path.stem, name), None):
                    print("differs:", folder, path.stem, name)
                    bad += 1
    for left in want:
        print("no such tensor:", *left)
    print("check_numpy:", "failed" if bad or want else "passed")
    return 1 if bad or want else 0


if __name__ == "__main__":
    np.seterr(over="ignore")
    sys.exit(main())
