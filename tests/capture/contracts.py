"""The reference programs and contracts of the ten workloads: what plans.py writes beside each plan."""
import recipes

F16 = {"round": "f16"}


def times(name, a, b, **flags):
    return {"id": name, "op": "matmul", "a": a, "b": b, **flags, **F16}


def pointwise(name, op, a, b):
    return {"id": name, "op": op, "a": a, "b": b, **F16}


REFERENCE = {
    "gemm": ([times("projection", "x", "w")], {"y": "projection"}),
    "bias": ([times("projection", "x", "w"), pointwise("sum", "add", "projection", "bias")], {"y": "sum"}),
    "input_scale": ([pointwise("scaled", "mul", "x", "scale"), times("projection", "scaled", "w")], {"y": "projection"}),
    "output_scale": ([times("projection", "x", "w"), pointwise("scaled", "mul", "projection", "scale")], {"y": "scaled"}),
    "projection_chain": ([times("hidden", "x", "w"), times("projection", "hidden", "v")], {"y": "projection"}),
    "projection_join": ([times("first", "x", "w"), times("second", "x", "v"), pointwise("sum", "add", "first", "second")], {"y": "sum"}),
    "public_projection": ([times("projection", "x", "w"), pointwise("sum", "add", "projection", "bias")], {"p": "projection", "y": "sum"}),
    "relu": ([times("projection", "x", "w"), {"id": "positive", "op": "relu", "a": "projection", **F16}], {"y": "positive"}),
    "residual": ([times("projection", "x", "w"), pointwise("sum", "add", "projection", "r")], {"y": "sum"}),
    "weight_view": ([times("projection", "x", "wt", transpose_b=True), pointwise("sum", "add", "projection", "bias")], {"y": "sum"}),
}

PROPERTY = {
    "integers": "Exact at every step and different in every row and column: a transposed, shifted or misplaced element{where} shows.",
    "random": "Normal inputs, projections of deviation 1/8{addends}: the everyday case, and the one that is timed.",
    "held_out": "Uniform inputs of another seed: what was tuned on random must hold here as well.",
    "cancellation": "Large partial sums cancel to small integers: partial sums kept in F16 show.",
    "product_accumulation": "Products of 12 and 13 bits cancel to small integers: products rounded to F16 before the sum show.",
    "magnitude": "Subnormal inputs that matter, and outputs near the largest F16: inputs flushed to zero, and overflow, show.",
    "projection_rounding": "Projections between two F16 values and {what} that cancels most of them: {fault} shows.",
    "operand_rounding": "Scaled inputs between two F16 values, in pairs that cancel: a scale that is not rounded into the operand shows.",
}
# Per workload: what integers can misplace, what is added and stays within 0.2, and why projection_rounding applies or not.
WHERE = {"bias": ", or a bias along the other axis,", "public_projection": ", or a bias along the other axis,",
         "weight_view": ", or a bias along the other axis,", "residual": ", or a residual read across,", "projection_join": ", or one weight for the other,"}
ROUNDING = {
    **{w: ("a bias", "a bias added before the projection is rounded") for w in ("bias", "public_projection", "weight_view")},
    "residual": ("a residual", "a residual added before the projection is rounded"),
    "projection_join": ("a second projection", "a second product accumulated before the first is rounded"),
    "projection_chain": ("a second weight", "a second projection of the unrounded first"),
}
NO_ROUNDING = {
    "gemm": "Does not apply: nothing follows the rounding of the projection, so there is nothing that could come before it.",
    "relu": "Does not apply: taking the larger of a value and zero gives the same bits before and after the rounding.",
    "input_scale": "Does not apply: nothing follows the rounding of the projection; operand_rounding takes its place for the rounding before it.",
    "output_scale": "Does not apply: a factor applied before the rounding moves the result by one F16 step of itself at most, which the tolerance allows.",
}
DISPATCH = {"Cast": "cast", "Add": "add", "Mul": "mul", "Relu": "relu"}
WEIGHT_VIEW_REASON = ("One matmul call with the first algorithm of the heuristic, then two elementwise kernels without atomics in which a thread owns "
                      "an element, all in order on one stream.")
REASON = ("{calls} with the first algorithm of the heuristic, and elementwise kernels without atomics in which a thread owns an element, all in "
          "order on one stream.")
STABLE = (" cuBLAS documents the same bits at every run for one toolkit version on devices of one architecture and number of multiprocessors "
          "while a single stream is active; nothing is claimed across versions or devices.")
GROWTH = ("An FP32 sum of k products, in any order, is off by at most about (k-1)*2^-24 of the sum of their magnitudes, and usually by the square "
          "root of k instead of k. What is left of that in y is an F16 rounding of the projection that falls the other way: one F16 step. "
          "Measured at the listed k only; for another k the bounds of the fixtures that are exact by construction must be derived again.")
ARCHITECTURE = ("Kernels compiled for compute capability 7.5 and later; the library matmul with {types} operands, FP32 compute and FP32 result on "
                "8.0 and later. Measurements name their device; no figure carries over to another.")


def applying(base):
    skip = {"operand_rounding"} if base != "input_scale" else set()
    return [f for f in recipes.PURPOSE if f not in skip and not (f == "projection_rounding" and base in NO_ROUNDING)]


def purposes(base, fixture):
    text = recipes.PURPOSE[fixture]
    if fixture == "projection_rounding" and base in ROUNDING and ROUNDING[base][0] != "a bias":
        what, fault = ROUNDING[base]
        text = text.replace("with a bias that", f"with {what} that").replace("a bias added before the projection is rounded to F16", fault)
    if fixture == "random" and base not in WHERE:
        text = "Normal inputs; every projection of the plain product has a deviation of 1/8."
    if fixture == "random" and base == "projection_join":
        text = "Normal inputs; both projections have a deviation of 1/8, and nothing keeps them from cancelling."
    return text


def contract_of(base, plan, s):
    outputs = list(REFERENCE[base][1])
    fixtures = []
    for f in recipes.PURPOSE:
        if f == "operand_rounding" and base != "input_scale":
            continue
        text = PROPERTY[f]
        if f == "integers":
            text = text.format(where=WHERE.get(base, ""))
        elif f == "random":
            text = text.format(addends=", addends within 0.2" if base in WHERE and base != "projection_join" else "")
        elif f == "projection_rounding":
            text = NO_ROUNDING.get(base) or text.format(what=ROUNDING[base][0], fault=ROUNDING[base][1])
        fixtures.append({"name": f, "applies": f in applying(base), "property": text})
    per_phase = len(applying(base)) * len(outputs)
    matmuls = [n for n in plan.nodes if n["op"] == "matmul"]
    dispatch = {}
    for n in matmuls:
        types = [n["spec"][k] for k in ("a_dtype", "b_dtype", "d_dtype")]
        dispatch["matmul." + "_".join(types)] = {"symbol": "cublasLtMatmul", "family": "library_matmul", "dtypes": types}
    for n in plan.nodes:
        if n["op"] == "kernel":
            types = [plan.of(x["buffer"])["dtype"] for x in n["operands"] + [n["destination"]]]
            name = DISPATCH[n["label"]]
            key = f"{name}.{'_'.join(types)}" if name == "cast" else f"{name}.{types[-1]}"
            dispatch[key] = {"symbol": "k", "family": name, "dtypes": types}
    calls = "One matmul call" if len(matmuls) == 1 else f"{['', '', 'Two', 'Three'][len(matmuls)]} matmul calls, each"
    reason = WEIGHT_VIEW_REASON if base == "weight_view" and len(plan.sources) == 2 else REASON.format(calls=calls)
    a_type = matmuls[0]["spec"]["a_dtype"].upper().replace("F32", "FP32")
    return {
        "format": "replay-contract/1",
        "tolerances": [{"output": o, "atol": 0.0002, "rtol": 0.002} for o in outputs],
        "fixtures": fixtures,
        "checks_per_phase": per_phase, "phases": 5, "checks_total": 5 * per_phase,
        "accuracy": {"class": "tolerance_bounded", "measured_k": sorted({n["spec"]["k"] for n in matmuls}), "growth": GROWTH},
        "determinism": {"claimed": True, "reason": reason + STABLE},
        "architecture": {"kernels_sm": 75, "library_sm": 80, "claim": ARCHITECTURE.format(types=a_type)},
        "dispatch": [{"name": k, **v} for k, v in dispatch.items()],
    }


def reference_of(base, tensors):
    nodes, outputs = REFERENCE[base]
    return {"format": "replay-reference/1", "inputs": [{"name": n, "dtype": "f16", "shape": shape} for n, shape, *_ in tensors],
            "nodes": nodes, "outputs": [{"name": o, "value": v, "dtype": "f16"} for o, v in outputs.items()]}
