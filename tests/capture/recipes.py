"""The fixtures of the ten workloads: recipes from sizes, contract texts from recipes. docs/fixtures.md derives every number.

Nothing here was chosen after looking at a verdict, and the sizes are the only inputs."""

PURPOSE = {
    "integers": "Small integers, different in every row and column and exact at every step, so that any transposition or misplaced element shows.",
    "random": "Normal inputs whose projections have a deviation of 1/8; addends stay within 0.2, where a rounding that falls the other way cannot decide.",
    "held_out": "Uniform inputs from another seed, for an implementation that was chosen while looking at random.",
    "cancellation": "The second half of k mirrors the first with opposite sign, so that large partial sums, exact in FP32 in any order, leave a small remainder; catches partial sums kept in F16.",
    "product_accumulation": "Products of 12 and 13 bits that F16 cannot hold cancel four by four to small exact integers; catches products rounded to F16 before they are added.",
    "magnitude": "Half of the rows meet subnormal inputs through large factors, the other half reach towards the largest F16; catches subnormal inputs flushed to zero.",
    "projection_rounding": "Projections such as 2320.25, exact in FP32 and between two F16 values away from ties, with a bias that cancels most of them; catches a bias added before the projection is rounded to F16.",
    "operand_rounding": "Scaled inputs such as 2401.5, between two F16 values away from ties, in pairs that cancel; catches a scale that is not rounded into the operand.",
}
SEED = {name: i + 1 for i, name in enumerate(PURPOSE)}


# --- Generators. ---

def constant(value, shift=0):
    return {"generator": "constant", "value": value, "shift": shift}


def uniform(bound, shift=0):
    return {"generator": "uniform", "low": -bound, "high": bound, "shift": shift}


def normal(numerator, shift):
    return {"generator": "normal", "numerator": numerator, "shift": shift}


def affine(steps, modulus, base, times=1, shift=0):
    return {"generator": "affine", "offset": 0, "steps": steps, "modulus": modulus, "base": base, "times": times, "shift": shift}


def term(low, high, every, pattern):
    return {"low": low, "high": high, "every": every, "pattern": pattern}


def combine(terms, fold=False, shift=0):
    return {"generator": "combine", "fold": fold, "terms": terms, "shift": shift}


def concat(axis, *parts):
    return {"generator": "concat", "axis": axis, "parts": [{"extent": n, **g} for n, g in parts if n]}


def scaled(g, by):
    """The same values times 2^by."""
    if "parts" in g:
        return {**g, "parts": [scaled(p, by) for p in g["parts"]]}
    return {**g, "shift": g["shift"] + by}


# --- A projection: x [rows, k] against a weight given as [columns, k]. ---

def sizes(k):
    """What depends on the inner extent: full is 768, small 56."""
    full = k >= 256
    return {"int_x": 2 if full else 5, "int_w": 1 if full else 5, "deviation_w": 37 if full else 137, "held_w": (7095, -18) if full else (6567, -16),
            "fold": 31 if full else 45, "sparse": 16 if full else 4, "tiny": 16 if full else 8, "thin": 8 if full else 2,
            "fraction": 4 if full else 1}


def projection(fixture, rows, k, int_x=None, int_w=None, remainder=3, tiny=31):
    """(x, weight) of one fixture. The bounds come with the workload where it adds two projections."""
    c = sizes(k)
    if fixture == "integers":
        return uniform(int_x or c["int_x"]), uniform(int_w or c["int_w"])
    if fixture == "random":
        return normal(1, -21), normal(c["deviation_w"], -26)
    if fixture == "held_out":
        return uniform(8191, -14), uniform(*c["held_w"])
    if fixture == "cancellation":
        b = c["fold"]
        return (combine([term(-b, b, 1, [1, 1])], fold=True),
                combine([term(-b, b, 1, [1, -1]), term(-1, 1, c["sparse"], [0, 1])], fold=True))
    if fixture == "product_accumulation":
        return (combine([term(33, 63, 1, [1, 1, 1, 1]), term(1, 3, 1, [0, 0, -1, -1])]),
                combine([term(65, 127, 1, [1, -1, -1, 1]), term(-remainder, remainder, 1, [0, 1, 0, -1])]))
    if fixture == "magnitude":
        n, half = c["tiny"], rows // 2
        rest = k - 4 * n - 2
        low = concat(1, (n, uniform(tiny, -24)), (n, uniform(tiny, -19)), (n, uniform(1, 13)), (n, uniform(1, 8)), (k - 4 * n, constant(0)))
        high = concat(1, (4 * n, constant(0)), (2, constant(65, 3)), (rest, combine([term(-1, 1, c["thin"], [1])], shift=2)))
        return (concat(0, (half, low), (rows - half, high)),
                concat(1, (n, uniform(1, 13)), (n, uniform(1, 8)), (n, uniform(tiny, -24)), (n, uniform(tiny, -19)), (2, uniform(15, 2)),
                       (rest, uniform(1, 3))))
    if fixture == "projection_rounding":
        half = (k - 2) // 2
        fraction = combine([term(1, 1, 1, [1]), term(0, 3, 1, [2])], shift=-2)
        return (concat(1, (1, constant(16)), (half, uniform(3)), (half, combine([term(-1, 1, c["fraction"], [1])])), (1, constant(1))),
                concat(1, (1, affine([7, 0], 64, 144)), (half, constant(0)), (half, uniform(1)), (1, fraction)))
    raise ValueError(fixture)


def addend(fixture, shape):
    """bias [n] or residual [m, n]: the last axis carries what tells columns apart, the first of two tells rows apart."""
    n, rows = shape[-1], len(shape) == 2
    if fixture == "integers":
        return affine([251, 367] if rows else [367], 1025, -512)
    if fixture in ("random", "held_out"):
        return uniform(3276, -14)
    if fixture == "cancellation":
        return affine([37, 89] if rows else [89], 201, -100)
    if fixture == "product_accumulation":
        return affine([37, 89] if rows else [89], 401, -200)
    if fixture == "magnitude":
        return concat(len(shape) - 1, (n // 2, uniform(1023, -24)), (n - n // 2, uniform(409, -11)))
    if fixture == "projection_rounding":
        return affine([0, 7] if rows else [7], 64, 144, times=-1, shift=4)
    raise ValueError(fixture)


# Scales: exact powers of two where a fixture is exact by construction, else 11-bit numbers near 1.
def scale_of(fixture):
    return {"random": constant(1229, -10), "held_out": constant(1741, -11), "operand_rounding": constant(3, -1)}.get(fixture, constant(-1, -1))


# --- Workloads. Each gives [(name, shape, transposed, generator)] of one fixture. ---

def with_weight(s, pair):
    return [("x", [s["m"], s["k"]], False, pair[0]), ("w", [s["k"], s["n"]], True, pair[1])]


def gemm(f, s):
    return with_weight(s, projection(f, s["m"], s["k"]))


def bias(f, s):
    return gemm(f, s) + [("bias", [s["n"]], False, addend(f, [s["n"]]))]


def residual(f, s):
    return gemm(f, s) + [("r", [s["m"], s["n"]], False, addend(f, [s["m"], s["n"]]))]


def weight_view(f, s):
    x, w = projection(f, s["m"], s["k"])
    return [("x", [s["m"], s["k"]], False, x), ("wt", [s["n"], s["k"]], False, w), ("bias", [s["n"]], False, addend(f, [s["n"]]))]


def output_scale(f, s):
    return gemm(f, s) + [("scale", [1], False, scale_of(f))]


def input_scale(f, s):
    if f == "operand_rounding":
        x = combine([term(1600, 1600, 1, [1, 1]), term(1, 1, 1, [1, -1]), term(-5, 5, 1, [4, 0]), term(-5, 5, 1, [0, 4])])
        w = combine([term(1, 2, sizes(s["k"])["sparse"], [1, -1])])
    else:
        x, w = projection(f, s["m"], s["k"])
        if f not in ("random", "held_out"):
            x = scaled(x, 1)  # the scale of 1/2 gives the other workloads' x back, with its sign turned
    return with_weight(s, (x, w)) + [("scale", [1], False, scale_of(f))]


def projection_join(f, s):
    k = s["k"]
    bounds = {"int_x": 1 if s["full"] else 5, "int_w": 1 if s["full"] else 3, "remainder": 1 if s["full"] else 3, "tiny": 15}
    x, w = projection(f, s["m"], k, **bounds)
    v = w
    if f == "magnitude":
        v = {**w, "parts": w["parts"][:4] + [{"extent": k - 4 * sizes(k)["tiny"], **constant(0)}]}
    elif f == "projection_rounding":
        v = concat(1, (1, affine([7, 0], 64, 144, times=-1)), (k - 1, constant(0)))
    return with_weight(s, (x, w)) + [("v", [k, s["n"]], True, v)]


def projection_chain(f, s):
    k, h, full = s["k"], s["h"], s["full"]
    x, w = projection(f, s["m"], k, int_x=1 if full else 2, int_w=1 if full else 3)
    if f == "integers":
        v = uniform(1 if full else 2)
    elif f == "random":
        v = normal(37, -27) if full else normal(1, -20)
    elif f == "held_out":
        v = uniform(4096, -16) if full else uniform(14189, -16)
    elif f == "magnitude":
        v = concat(1, (4, uniform(1, -2)), (h - 4, constant(0)))
    elif f == "projection_rounding":
        w = {**w, "parts": [{"extent": 1, **constant(144)}] + w["parts"][1:]}
        v = concat(1, (16, combine([term(-1, 1, 1, [1, -1])])), (h - 16, constant(0)))
    else:
        v = combine([term(-1, 1, 4 if full else 1, [1])])
    return [("x", [s["m"], k], False, x), ("w", [k, h], True, w), ("v", [h, s["n"]], True, v)]


def recipe(fixture, tensors, purpose):
    out = []
    for tensor, shape, transposed, generator in tensors:
        head = {"name": tensor, "dtype": "f16", "shape": shape}
        if transposed:
            head["transposed"] = True
        out.append({**head, **generator})
    return {"format": "replay-recipe/1", "fixture": fixture, "purpose": purpose, "seed": SEED[fixture], "tensors": out}
