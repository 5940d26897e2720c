#!/usr/bin/env python3
"""The compiler's side: write the frozen plans under artifacts/workloads/.

For each workload and alternative, at both sizes: plan/ (plan.json, buffer_ir.txt, typed_ops.json, arena.json, resolved_calls.json),
kernels/*.cu, reference.json, contract.json and fixtures/*.json. What only a device can say, capture.json, is the capture
program's; PTX and its record are kernel_record.py's. docs/workloads.md describes what comes out. Shares no code with what reads it:
the arena and the descriptors are worked out here on their own, so that two derivations meet.

usage: plans.py [--check] [FOLDER]     FOLDER: artifacts/workloads; --check writes nothing and says what differs"""
import json
import pathlib
import sys

sys.dont_write_bytecode = True
import contracts  # noqa: E402, beside this file
import recipes  # noqa: E402

WORKSPACE = 33554432
FULL = {"m": 1024, "n": 1024, "k": 768, "full": True}
WIDTH = {"f16": 2, "f32": 4}


# --- JSON as the folders spell it. ---

def pretty(o, depth=0):
    """Plans, arenas and calls: short objects below the second level on one line."""
    pad = "  " * (depth + 1)
    if isinstance(o, dict):
        line = json.dumps(o)
        if not o or depth >= 2 and len(line) < 100:
            return line
        return "{\n" + ",\n".join(f"{pad}{json.dumps(k)}: {pretty(v, depth + 1)}" for k, v in o.items()) + "\n" + "  " * depth + "}"
    if isinstance(o, list) and any(isinstance(v, (dict, list)) for v in o):
        return "[\n" + ",\n".join(pad + pretty(v, depth + 1) for v in o) + "\n" + "  " * depth + "]"
    return json.dumps(o)


def listing(o, depth=0):
    """References, contracts and recipes: every object below the second level on one line, unless it holds a list of objects."""
    pad = "  " * (depth + 1)

    def flat(v):
        return not (isinstance(v, list) and any(isinstance(i, dict) for i in v))

    if isinstance(o, dict) and depth < 2:
        return "{\n" + ",\n".join(f"{pad}{json.dumps(k)}: {listing(v, depth + 1)}" for k, v in o.items()) + "\n" + "  " * depth + "}"
    if isinstance(o, dict) and not all(map(flat, o.values())):
        runs, text = [[]], []
        for k, v in o.items():
            if flat(v):
                runs[-1].append(f"{json.dumps(k)}: {json.dumps(v)}")
            else:
                runs += [f"{json.dumps(k)}: {listing(v, depth + 1)}", []]
        for run in runs:
            if run:
                text.append(pad + (", ".join(run) if isinstance(run, list) else run))
        return "{\n" + ",\n".join(text) + "\n" + "  " * depth + "}"
    if isinstance(o, list) and not flat(o):
        return "[\n" + ",\n".join(pad + listing(v, depth + 1) for v in o) + "\n" + "  " * depth + "]"
    return json.dumps(o)


def canonical(o):
    return json.dumps(o, sort_keys=True, separators=(",", ":"))


# --- Layouts. ---

def spelled(shape, *kinds):
    """Both contiguous spellings hold where an extent is 1."""
    if 1 in shape and len(shape) == 2:
        kinds = ("right_major", "left_major")
    return {"shape": list(shape), "spellings": [{"kind": k} for k in kinds]}


def right(*shape):
    return spelled(shape, "right_major")


def left(*shape):
    return spelled(shape, "left_major")


def strided(shape, strides):
    return {"shape": list(shape), "spellings": [{"kind": "strided", "strides": list(strides)}]}


def kinds(layout):
    return [s["kind"] for s in layout["spellings"]]


def count(shape):
    n = 1
    for v in shape:
        n *= v
    return n


# --- Kernels, in the established style. ---

PRELUDE = """
/* Layout terms beyond plain C arithmetic. A kernel that needs none still carries them. */
__device__ __forceinline__ long long term_ceil_div(long long a, long long b)
{
    return a / b + (long long)(a % b != 0 && (a < 0) == (b < 0));
}
__device__ __forceinline__ long long term_min(long long a, long long b) { return a < b ? a : b; }
__device__ __forceinline__ long long term_max(long long a, long long b) { return a > b ? a : b; }

"""
C_TYPE = {"f16": "__half", "f32": "float"}


def offset_terms(strides):
    last = len(strides) - 1
    return " + ".join(f"c{last - axis}" if s == 1 else f"c{last - axis} * {s}LL" for axis, s in enumerate(strides))


def kernel_source(label, operand_types, operand_layouts, out_type, shape):
    includes = "#include <cuda_fp16.h>\n" if "f16" in operand_types + [out_type] else ""
    arguments = "".join(f"const {C_TYPE[t]} *in{i}, " for i, t in enumerate(operand_types))
    read, coordinates = [], ""
    for i, layout in enumerate(operand_layouts):
        spelling = layout["spellings"][0]
        if spelling["kind"] == "right_major":
            read.append(f"in{i}[i]")
            continue
        coordinates = "        long long rest = (long long)i;\n"
        for c, extent in enumerate(reversed(shape)):
            coordinates += f"        rest /= {shape[len(shape) - c]}LL;\n" if c else ""
            coordinates += f"        const long long c{c} = rest % {extent}LL;\n"
        read.append(f"in{i}[{offset_terms(spelling['strides'])}]")
    value = {"Cast": f"({C_TYPE[out_type]}){read[0]}",
             "Add": " + ".join(read),
             "Mul": " * ".join(read),
             "Relu": f"{read[0]} < ({C_TYPE[out_type]})0.0f ? ({C_TYPE[out_type]})0.0f : {read[0]}"}[label]
    return (f"{includes}{PRELUDE}extern \"C\" __global__ void k({arguments}{C_TYPE[out_type]} *out, const long long *params)\n{{\n"
            f"    const unsigned long long n = {count(shape)}ULL;\n"
            "    const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
            f"    if (i < n) {{\n{coordinates}        out[i] = {value};\n    }}\n}}\n")


# --- A plan under construction. ---

class Plan:
    """Nodes are added in the order in which policy luminal-slab/2 issues them; edges follow from what nodes touch."""

    def __init__(self):
        self.buffers, self.nodes, self.sources, self.reuse = [], [], {}, []

    def buffer(self, name, dtype, layout, owner="caller", freed_by="caller", access="rw"):
        self.buffers.append({"id": name, "label": name, "owner": owner, "freed_by": freed_by, "access": access, "dtype": dtype, "layout": layout})

    def boundary_in(self, name, *shape):
        self.buffer(name, "f16", right(*shape), access="ro")

    def interior(self, name, dtype, layout):
        self.buffer(name, dtype, layout, "system", "program")

    def escaping(self, name, dtype, layout):
        self.buffer(name, dtype, layout, "system", "caller")

    def of(self, name):
        return next(b for b in self.buffers if b["id"] == name)

    def inputs(self, *names):
        self.nodes.append({"op": "input", "slots": [{"value": n, "buffer": n} for n in names]})

    def outputs(self, *slots):
        self.nodes.append({"op": "output", "slots": [{"value": v, "buffer": b, "layout": layout} for v, b, layout in slots]})

    def alloc(self, name):
        self.nodes.append({"op": "alloc", "buffer": name})

    def free(self, name):
        self.nodes.append({"op": "free", "buffer": name})

    def copy(self, source, destination):
        self.nodes.append({"op": "copy", "source": source, "destination": destination})

    def matmul(self, spec, operands, destination):
        ports = ["a", "b"] + (["c"] if "Accumulate" in spec["form"] else []) + (["bias"] if "Bias" in spec["form"] else [])
        self.nodes.append({"op": "matmul", "label": spec["form"], "spec": spec, "operands": self.slots(ports, operands),
                           "destination": self.destination(ports, operands, destination)})

    def kernel(self, label, operands, destination):
        ports = ["input"] if len(operands) == 1 else ["lhs", "rhs"]
        shape = destination[1]["shape"]
        source = f"kernels/{len(self.sources):03}_{label.lower()}.cu"
        self.sources[source] = kernel_source(label, [self.of(b)["dtype"] for b, _ in operands], [l for _, l in operands],
                                             self.of(destination[0])["dtype"], shape)
        self.nodes.append({"op": "kernel", "label": label, "source": source, "entry": "k", "operands": self.slots(ports, operands),
                           "destination": self.destination(ports, operands, destination), "grid": [(count(shape) + 255) // 256, 1, 1],
                           "block": [256, 1, 1], "shared_bytes": 0})

    @staticmethod
    def slots(ports, operands):
        return [{"port": p, "buffer": b, "layout": layout} for p, (b, layout) in zip(ports, operands)]

    @staticmethod
    def destination(ports, operands, destination):
        slot = {"port": "dest", "buffer": destination[0], "layout": destination[1]}
        tied = [p for p, (b, _) in zip(ports, operands) if b == destination[0]]
        return {**slot, "tie": tied[0]} if tied else slot

    # Edges: each read from the last writer, each write after every earlier toucher, a free after all.
    def edges(self):
        out, writer, readers = [], {}, {}

        def edge(a, b, buffer, port, kind):
            out.append({"from": a, "to": b, "buffer": buffer, "port": port, "kind": kind})

        for i, n in enumerate(self.nodes):
            for a, b, buffer in self.reuse:
                if b == i:
                    edge(a, b, buffer, "reuse", "anti")
            if n["op"] == "input":
                for s in n["slots"]:
                    writer[s["buffer"]] = i
            elif n["op"] == "alloc":
                writer[n["buffer"]] = i
            elif n["op"] == "free":
                for r in readers.get(n["buffer"], []):
                    edge(r, i, n["buffer"], "war", "anti")
                edge(writer[n["buffer"]], i, n["buffer"], "free", "data")
            elif n["op"] == "output":
                for k, s in enumerate(n["slots"]):
                    edge(writer[s["buffer"]], i, s["buffer"], f"out {k}", "data")
            else:
                copy = n["op"] == "copy"
                reads = [("in", n["source"])] if copy else [(s["port"], s["buffer"]) for s in n["operands"]]
                to = n["destination"] if copy else n["destination"]["buffer"]
                # Operands that the caller brought first, as the original's summaries list them.
                for port, b in sorted(reads, key=lambda r: writer[r[1]] != 0):
                    edge(writer[b], i, b, port, "data")
                if to in writer and to not in [b for _, b in reads]:
                    first = self.nodes[writer[to]]["op"] == "alloc"
                    edge(writer[to], i, to, "alloc" if first else "dest", "data")
                for r in readers.get(to, []):
                    edge(r, i, to, "war", "anti")
                for _, b in reads:
                    if b != to:
                        readers.setdefault(b, []).append(i)
                writer[to], readers[to] = i, []
        return out

    def document(self, name):
        return {"format": "replay-plan/1", "name": name,
                "policy": {"resolver": "luminal-lt/1", "arena": "luminal-slab/2", "renderer": "luminal-text/1"},
                "symbols": [], "buffers": self.buffers, "nodes": self.nodes, "edges": self.edges()}

    # --- What the original would render, place and call. ---

    def touched(self, n):
        if n["op"] in ("input", "output"):
            return [s["buffer"] for s in n["slots"]]
        if n["op"] in ("alloc", "free"):
            return [n["buffer"]]
        if n["op"] == "copy":
            return [n["source"], n["destination"]]
        return [s["buffer"] for s in n["operands"]] + [n["destination"]["buffer"]]

    def buffer_ir(self):
        caller = sorted(b["id"] for b in self.buffers if b["owner"] == "caller")
        system = [b["id"] for b in self.buffers if b["owner"] == "system"]
        shown = {**{b: f"pinned[{b}]" for b in caller}, **{b: f"alloc#{i}[{b}]" for i, b in enumerate(system)}}
        lines, labels = ["buffers:"], {}
        for b in caller + system:
            lines.append(f"  {shown[b]} {self.of(b)['owner']} {self.of(b)['access']}")
        lines.append("ops:")
        for i, n in enumerate(self.nodes):
            labels[i] = {"alloc": "BufferAlloc", "free": "BufferFree", "copy": "Copy"}.get(n["op"], n.get("label"))
            if n["op"] in ("input", "output"):
                continue
            reads = [] if n["op"] == "alloc" else self.touched(n)
            writes = [] if n["op"] == "free" else self.touched(n)[-1:]
            lines.append(f"  {labels[i]}: [{', '.join(shown[b] for b in reads)}] -> [{', '.join(shown[b] for b in writes)}]")
        lines.append("anti:")
        lines += [f"  {shown[e['buffer']]}: {labels[e['from']]} -> {labels[e['to']]}" for e in self.edges() if e["kind"] == "anti"]
        lines.append("outputs:")
        lines += [f"  {i}: {shown[b]}" for i, b in enumerate(b for n in self.nodes if n["op"] == "output" for b in self.touched(n))]
        return "\n".join(lines) + "\n"

    def typed_ops(self):
        ops = []
        for i, n in enumerate(self.nodes):
            if n["op"] not in ("copy", "matmul", "kernel"):
                continue
            if n["op"] == "copy":
                operands = [{"port": "source", "buffer": n["source"], "layout": self.of(n["source"])["layout"]}]
                to, label = {"port": "destination", "buffer": n["destination"], "layout": self.of(n["destination"])["layout"]}, "Copy"
            else:
                operands, to, label = n["operands"], n["destination"], n["label"]

            def typed(slot):
                return {**slot, "dtype": self.of(slot["buffer"])["dtype"]}

            op = {"node": i, "label": label, "operands": [typed(s) for s in operands], "destination": typed(to)}
            op.update({k: n[k] for k in ("spec", "source", "entry", "grid", "block", "shared_bytes") if k in n and n["op"] != "copy"})
            ops.append(op)
        return canonical({"ops": ops})

    def arena(self):
        """luminal-slab/2: first fit into the lowest hole, releases before allocations of one step."""
        steps = len(self.nodes)
        requests = [{"name": "parameters", "first_step": 0, "end_step": steps, "bytes": 8}]
        for i, n in enumerate(self.nodes):
            for name in self.touched(n):
                b = self.of(name)
                external = b["owner"] == "caller" and b["freed_by"] == "caller"
                if external or any(r["name"] == name for r in requests):
                    continue
                last = max(k for k, m in enumerate(self.nodes) if name in self.touched(m))
                size = max(1, max((sum((e - 1) * s for e, s in zip(b["layout"]["shape"], sp["strides"])) + 1) if "strides" in sp
                                  else count(b["layout"]["shape"]) for sp in b["layout"]["spellings"][:1]))
                requests.append({"name": name, "first_step": 0 if b["owner"] == "caller" else i,
                                 "end_step": steps if b["freed_by"] == "caller" else last + 1, "bytes": size * WIDTH[b["dtype"]]})
            if n["op"] == "matmul":
                requests.append({"name": f"workspace@{i}", "first_step": i, "end_step": i + 1, "bytes": WORKSPACE})
        busy, top, peak = {}, 0, 0  # request index -> (offset, reserved)
        for step in range(steps):
            for i, r in enumerate(requests):
                if r["end_step"] == step:
                    busy.pop(i)
            for i, r in enumerate(requests):
                if r["first_step"] != step:
                    continue
                need, at = (r["bytes"] + 255) // 256 * 256, 0
                for start, length in sorted(busy.values()):
                    if start - at >= need:
                        break
                    at = start + length
                r["offset_bytes"] = at
                busy[i] = (at, need)
                top = max(top, at + need)
                peak = max(peak, sum(length for _, length in busy.values()))
        order = ("name", "first_step", "end_step", "offset_bytes", "bytes")
        return {"format": "replay-arena/1", "slab_bytes": top, "peak_live_bytes": peak, "ranges": [{k: r[k] for k in order} for r in requests]}

    def calls(self):
        """Descriptors from what the matrices are, not from the spec's flags."""
        out = []
        for i, n in enumerate(self.nodes):
            if n["op"] != "matmul":
                continue
            s, slots = n["spec"], {o["port"]: o for o in n["operands"]}

            def stored(port, rows, cols):
                """An operand [rows, cols]: row-major as it is, or the transpose of a row-major matrix."""
                slot = slots[port]
                turned = kinds(slot["layout"])[0] == "left_major"
                r, c = (cols, rows) if turned else (rows, cols)
                return {"buffer": slot["buffer"], "type": self.of(slot["buffer"])["dtype"], "rows": r, "cols": c, "ld": c, "order": "row"}, turned

            (a, turn_a), (b, turn_b) = stored("a", s["m"], s["k"]), stored("b", s["k"], s["n"])
            col = "left_major" in kinds(n["destination"]["layout"])

            def result(slot):
                return {"buffer": slot["buffer"], "type": self.of(slot["buffer"])["dtype"], "rows": s["m"], "cols": s["n"],
                        "ld": s["m"] if col else s["n"], "order": "col" if col else "row"}

            out.append({"node": i, "a": a, "b": b, "c": result(slots.get("c", n["destination"])), "d": result(n["destination"]), "trans_a": turn_a,
                        "trans_b": turn_b, "compute": "32f", "scale": "f32", "epilogue": s["epilogue"],
                        "bias": slots["bias"]["buffer"] if "bias" in slots else None, "alpha": 1, "beta": int("c" in slots),
                        "workspace_bytes": WORKSPACE})
        return {"format": "replay-calls/1", "calls": out}


def spec(form, m, n, k, trans_a, trans_b, lda, ldb, epilogue="default", dtype="f16"):
    """Flags and leading dimensions of the column-major readings: a row-major matrix read so is its transpose."""
    return {"form": form, "m": m, "n": n, "k": k, "trans_a": trans_a, "trans_b": trans_b, "lda": lda, "ldb": ldb, "ldc": m, "ldd": m,
            "a_dtype": dtype, "b_dtype": dtype, "d_dtype": "f32", "epilogue": epilogue}


def product_t(p, x, w, to, m, n, k, row=False, weight_is_view=False, form="CublasLt", epilogue="default", more=(), dtype="f16"):
    """T: [n, m] = w^T . x^T; the weight is [k, n], or with weight_is_view [n, k]. COL unless row."""
    a = (w, right(n, k) if weight_is_view else left(n, k))
    p.matmul(spec(form, n, m, k, weight_is_view, False, k if weight_is_view else n, k, epilogue, dtype),
             [a, (x, left(k, m))] + list(more), (to, right(n, m) if row else left(n, m)))


def product_n(p, x, w, to, m, n, k, weight_is_view=False, form="CublasLt", more=()):
    """N: [m, n] = x . w, ROW."""
    b = (w, left(k, n) if weight_is_view else right(k, n))
    p.matmul(spec(form, m, n, k, True, not weight_is_view, k, k if weight_is_view else n), [(x, right(m, k)), b] + list(more), (to, right(m, n)))


# --- The ten workloads and their alternatives: one function each, read beside docs/workloads.md. ---

def begin(s, *more, weight="w"):
    p = Plan()
    m, n, k = s["m"], s["n"], s["k"]
    p.boundary_in("x", m, k)
    p.boundary_in(weight, *((n, k) if weight == "wt" else (k, s.get("h", n))))
    for name, shape in more:
        p.boundary_in(name, *shape)
    return p, m, n, k


def cast_out(p, source, to, shape):
    p.kernel("Cast", [(source, right(*shape))], (to, right(*shape)))


def gemm(s):
    p, m, n, k = begin(s)
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", right(m, n))
    p.inputs("x", "w")
    p.alloc("p32")
    product_n(p, "x", "w", "p32", m, n, k)
    cast_out(p, "p32", "y", (m, n))
    p.free("p32")
    p.outputs(("y", "y", right(m, n)))
    return p


def relu(s):
    p, m, n, k = begin(s)
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", left(n, m))
    p.inputs("x", "w")
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k, epilogue="relu")
    cast_out(p, "p32", "y", (m, n))
    p.free("p32")
    p.outputs(("y", "y", right(m, n)))
    return p


def biased(s, weight="w", rows=False, bias_first=False):
    p, m, n, k = begin(s, ("bias", (s["n"],)), weight=weight)
    view = weight == "wt"
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", right(m, n) if rows else left(n, m))
    p.interior("p16", "f16", right(m, n))
    p.inputs("x", weight, "bias")
    p.alloc("p32")
    if rows:
        product_n(p, "x", weight, "p32", m, n, k, weight_is_view=view)
    else:
        product_t(p, "x", weight, "p32", m, n, k, weight_is_view=view)
    p.alloc("p16")
    cast_out(p, "p32", "p16", (m, n))
    p.free("p32")
    operands = [("p16", right(m, n)), ("bias", strided((m, n), (0, 1)))]
    p.kernel("Add", operands[::-1] if bias_first else operands, ("y", right(m, n)))
    p.free("p16")
    p.outputs(("y", "y", right(m, n)))
    return p


def bias(s):
    return biased(s)


def weight_view(s):
    return biased(s, "wt")


def weight_view_rows(s):
    return biased(s, "wt", rows=True)


def weight_view_bias_first(s):
    return biased(s, "wt", bias_first=True)


def weight_view_fp32(s):
    p, m, n, k = begin(s, ("bias", (s["n"],)), weight="wt")
    p.buffer("y", "f16", right(m, n))
    p.interior("wt32", "f32", right(n, k))
    p.interior("x32", "f32", right(m, k))
    p.interior("p32", "f32", left(n, m))
    p.interior("p16", "f16", right(m, n))
    p.inputs("x", "wt", "bias")
    p.alloc("wt32")
    cast_out(p, "wt", "wt32", (n, k))
    p.alloc("x32")
    cast_out(p, "x", "x32", (m, k))
    p.alloc("p32")
    product_t(p, "x32", "wt32", "p32", m, n, k, weight_is_view=True, dtype="f32")
    p.free("wt32")
    p.free("x32")
    p.alloc("p16")
    cast_out(p, "p32", "p16", (m, n))
    p.free("p32")
    p.kernel("Add", [("p16", right(m, n)), ("bias", strided((m, n), (0, 1)))], ("y", right(m, n)))
    p.free("p16")
    p.outputs(("y", "y", right(m, n)))
    return p


def bias_fused(s):
    p, m, n, k = begin(s, ("bias", (s["n"],)))
    p.buffer("y", "f16", right(m, n))
    p.interior("bias32", "f32", right(n))
    p.interior("p32", "f32", left(n, m))
    p.inputs("x", "w", "bias")
    p.alloc("bias32")
    cast_out(p, "bias", "bias32", (n,))
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k, form="CublasLtBias", epilogue="bias", more=[("bias32", right(n))])
    p.free("bias32")
    cast_out(p, "p32", "y", (m, n))
    p.free("p32")
    p.outputs(("y", "y", right(m, n)))
    return p


def input_scale(s):
    p, m, n, k = begin(s, ("scale", (1,)))
    p.buffer("y", "f16", right(m, n))
    p.interior("xs", "f16", right(m, k))
    p.interior("p32", "f32", left(n, m))
    p.inputs("x", "w", "scale")
    p.alloc("xs")
    p.kernel("Mul", [("x", right(m, k)), ("scale", strided((m, k), (0, 0)))], ("xs", right(m, k)))
    p.alloc("p32")
    product_t(p, "xs", "w", "p32", m, n, k)
    p.free("xs")
    cast_out(p, "p32", "y", (m, n))
    p.free("p32")
    p.outputs(("y", "y", right(m, n)))
    return p


def output_scale(s):
    p, m, n, k = begin(s, ("scale", (1,)))
    p.buffer("yt", "f16", right(n, m))
    p.interior("pt32", "f32", right(n, m))
    p.interior("pt16", "f16", right(n, m))
    p.inputs("x", "w", "scale")
    p.alloc("pt32")
    product_t(p, "x", "w", "pt32", m, n, k, row=True)
    p.alloc("pt16")
    cast_out(p, "pt32", "pt16", (n, m))
    p.free("pt32")
    p.kernel("Mul", [("pt16", right(n, m)), ("scale", strided((n, m), (0, 0)))], ("yt", right(n, m)))
    p.free("pt16")
    p.outputs(("y", "yt", left(m, n)))
    return p


def projection_chain(s):
    h = s["h"]
    p, m, n, k = begin(s, ("v", (h, s["n"])))
    p.buffer("y", "f16", right(m, n))
    p.interior("h32", "f32", right(m, h))
    p.interior("h16", "f16", right(m, h))
    p.interior("y32", "f32", left(n, m))
    p.inputs("x", "w", "v")
    p.alloc("h32")
    product_n(p, "x", "w", "h32", m, h, k)
    p.alloc("h16")
    cast_out(p, "h32", "h16", (m, h))
    p.free("h32")
    p.alloc("y32")
    product_t(p, "h16", "v", "y32", m, n, h)
    p.free("h16")
    cast_out(p, "y32", "y", (m, n))
    p.free("y32")
    p.outputs(("y", "y", right(m, n)))
    return p


def projection_join(s):
    p, m, n, k = begin(s, ("v", (s["k"], s["n"])))
    p.interior("p32", "f32", left(n, m))
    p.escaping("s", "f16", right(m, n))
    p.interior("q32", "f32", left(n, m))
    p.interior("q16", "f16", right(m, n))
    p.inputs("x", "w", "v")
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k)
    p.alloc("s")
    cast_out(p, "p32", "s", (m, n))
    p.free("p32")
    p.alloc("q32")
    p.reuse.append((4, 7, "q32"))  # q32 takes the place of p32, and nothing else orders them
    product_t(p, "x", "v", "q32", m, n, k)
    p.alloc("q16")
    cast_out(p, "q32", "q16", (m, n))
    p.free("q32")
    p.kernel("Add", [("s", right(m, n)), ("q16", right(m, n))], ("s", right(m, n)))
    p.free("q16")
    p.outputs(("y", "s", right(m, n)))
    return p


def projection_join_fused(s):
    p, m, n, k = begin(s, ("v", (s["k"], s["n"])))
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", left(n, m))
    p.inputs("x", "w", "v")
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k)
    product_t(p, "x", "v", "p32", m, n, k, form="CublasLtAccumulate", more=[("p32", left(n, m))])
    cast_out(p, "p32", "y", (m, n))
    p.free("p32")
    p.outputs(("y", "y", right(m, n)))
    return p


def public_projection(s):
    p, m, n, k = begin(s, ("bias", (s["n"],)))
    p.buffer("p", "f16", right(m, n))
    p.interior("p32", "f32", left(n, m))
    p.escaping("s", "f16", right(m, n))
    p.inputs("x", "w", "bias")
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k)
    p.alloc("s")
    cast_out(p, "p32", "s", (m, n))
    p.free("p32")
    p.copy("s", "p")
    p.kernel("Add", [("s", right(m, n)), ("bias", strided((m, n), (0, 1)))], ("s", right(m, n)))
    p.outputs(("p", "p", right(m, n)), ("y", "s", right(m, n)))
    return p


def relu_kernel(s):
    p, m, n, k = begin(s)
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", left(n, m))
    p.interior("p16", "f16", right(m, n))
    p.inputs("x", "w")
    p.alloc("p32")
    product_t(p, "x", "w", "p32", m, n, k)
    p.alloc("p16")
    cast_out(p, "p32", "p16", (m, n))
    p.free("p32")
    p.kernel("Relu", [("p16", right(m, n))], ("y", right(m, n)))
    p.free("p16")
    p.outputs(("y", "y", right(m, n)))
    return p


def residual(s):
    p, m, n, k = begin(s)
    p.buffer("r", "f16", right(m, n), freed_by="program")
    p.buffer("y", "f16", right(m, n))
    p.interior("p32", "f32", right(m, n))
    p.interior("p16", "f16", right(m, n))
    p.inputs("x", "w", "r")
    p.alloc("p32")
    product_n(p, "x", "w", "p32", m, n, k)
    p.alloc("p16")
    cast_out(p, "p32", "p16", (m, n))
    p.free("p32")
    p.kernel("Add", [("p16", right(m, n)), ("r", right(m, n))], ("y", right(m, n)))
    p.free("r")
    p.free("p16")
    p.outputs(("y", "y", right(m, n)))
    return p


def residual_fused(s):
    p, m, n, k = begin(s)
    p.buffer("r", "f16", right(m, n), freed_by="program")
    p.buffer("y", "f16", right(m, n))
    p.interior("s32", "f32", right(m, n))
    p.inputs("x", "w", "r")
    p.alloc("s32")
    cast_out(p, "r", "s32", (m, n))
    p.free("r")
    product_n(p, "x", "w", "s32", m, n, k, form="CublasLtAccumulate", more=[("s32", right(m, n))])
    cast_out(p, "s32", "y", (m, n))
    p.free("s32")
    p.outputs(("y", "y", right(m, n)))
    return p


# --- All of them. ---

SMALL = {"gemm": (40, 1), "bias": (24, 40), "input_scale": (72, 40), "output_scale": (40, 72), "projection_chain": (40, 24),
         "projection_join": (24, 40), "public_projection": (40, 24), "relu": (72, 40), "residual": (24, 40), "weight_view": (40, 24)}
WORKLOADS = [gemm, bias, input_scale, output_scale, projection_chain, projection_join, public_projection, relu, residual, weight_view]
ALTERNATIVES = {"weight_view.fp32": weight_view_fp32, "weight_view.rows": weight_view_rows, "weight_view.bias_first": weight_view_bias_first,
                "relu.kernel": relu_kernel, "bias.fused": bias_fused, "residual.fused": residual_fused, "projection_join.fused": projection_join_fused}


def files_of(name, base, build, s):
    plan, out = build(s), {}
    make = getattr(recipes, base if base not in ("relu", "public_projection") else {"relu": "gemm", "public_projection": "bias"}[base])
    out["plan/plan.json"] = pretty(plan.document(name)) + "\n"
    out["plan/buffer_ir.txt"] = plan.buffer_ir()
    out["plan/typed_ops.json"] = plan.typed_ops()
    out["plan/arena.json"] = pretty(plan.arena()) + "\n"
    out["plan/resolved_calls.json"] = pretty(plan.calls()) + "\n"
    out.update(plan.sources)
    out["reference.json"] = listing(contracts.reference_of(base, make("random", s))) + "\n"
    out["contract.json"] = listing(contracts.contract_of(base, plan, s)) + "\n"
    for f in contracts.applying(base):
        out[f"fixtures/{f}.json"] = listing(recipes.recipe(f, make(f, s), contracts.purposes(base, f))) + "\n"
    return out


def main():
    args = sys.argv[1:]
    check = "--check" in args
    folder = pathlib.Path(next((a for a in args if a != "--check"), "artifacts/workloads"))
    differ = 0
    builds = [(f.__name__, f.__name__, f) for f in WORKLOADS] + [(n, n.split(".")[0], f) for n, f in ALTERNATIVES.items()]
    for name, base, build in builds:
        small = {"m": SMALL[base][0], "n": SMALL[base][1], "k": 56, "full": False}
        full = dict(FULL)
        if base == "projection_chain":
            small["h"], full["h"] = 64, 768
        for suffix, s in (("", full), (".small", small)):
            for path, text in files_of(name + suffix, base, build, s).items():
                file = folder / (name + suffix) / path
                if file.exists() and file.read_text() == text:
                    continue
                differ += 1
                print(("differs: " if check else "written: ") + str(file))
                if not check:
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_text(text)
    return 1 if check and differ else 0


if __name__ == "__main__":
    sys.exit(main())
