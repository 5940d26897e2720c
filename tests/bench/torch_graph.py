#!/usr/bin/env python3
"""The same three operations as the weight_view plan, replayed by PyTorch from one CUDA graph.

    p = x @ wt.T (F16 x F16 -> F32);  p16 = p as F16;  y = p16 + bias

Prints one JSON line. The protocol is that of host_graph_launch_sync: 10 warm-up calls, 3 pilot calls, 15 blocks of
ceil(20 ms / pilot median) calls, at most 2000, each call synchronized. The loop runs in Python, so the interpreter's
time is part of a sample; the plan's 8-byte parameter copy has no counterpart here.
"""
import argparse
import json
import statistics
import time

import torch

WARM_UP, PILOT, BLOCKS, BLOCK_NS, MAX_CALLS = 10, 3, 15, 20_000_000, 2000


def make_tensors(batch, features, k):
    generator = torch.Generator(device="cuda").manual_seed(0)

    def random(*shape):
        return (torch.rand(*shape, generator=generator, device="cuda") * 2 - 1).half()

    return {
        "x": random(batch, k),
        "wt": random(features, k),
        "bias": random(features),
        "p32": torch.empty(batch, features, device="cuda", dtype=torch.float32),
        "p16": torch.empty(batch, features, device="cuda", dtype=torch.float16),
        "y": torch.empty(batch, features, device="cuda", dtype=torch.float16),
    }


def f32_result_in_place(t):
    torch.mm(t["x"], t["wt"].t(), out_dtype=torch.float32, out=t["p32"])
    t["p16"].copy_(t["p32"])
    torch.add(t["p16"], t["bias"], out=t["y"])


def f32_result_from_the_pool(t):
    t["p16"].copy_(torch.mm(t["x"], t["wt"].t(), out_dtype=torch.float32))
    torch.add(t["p16"], t["bias"], out=t["y"])


def f16_result(t):
    torch.mm(t["x"], t["wt"].t(), out=t["p16"])
    torch.add(t["p16"], t["bias"], out=t["y"])


# From the same three operations to what an older PyTorch can do; the line printed says which one ran.
VARIANTS = [
    ("torch.mm(out_dtype=float32, out=preallocated), copy_ to F16, add", f32_result_in_place),
    ("torch.mm(out_dtype=float32) from the graph's pool, copy_ to F16, add", f32_result_from_the_pool),
    ("fallback: torch.mm with F16 result and no cast, add: two operations, not three", f16_result),
]


def first_that_works(tensors):
    refusals = []
    for name, operations in VARIANTS:
        try:
            operations(tensors)
            torch.cuda.synchronize()
            return name, operations
        except (RuntimeError, TypeError) as refusal:
            refusals.append(str(refusal).splitlines()[0])
    raise SystemExit("torch_graph: no variant of the matmul works: " + "; ".join(refusals))


def capture(operations, tensors, stream):
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            operations(tensors)
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        operations(tensors)
    return graph


def block_ns(graph, stream, calls):
    start = time.perf_counter_ns()
    for _ in range(calls):
        graph.replay()
        stream.synchronize()
    return time.perf_counter_ns() - start


def measure(graph, stream):
    with torch.cuda.stream(stream):
        block_ns(graph, stream, WARM_UP)
        pilot = statistics.median(block_ns(graph, stream, 1) for _ in range(PILOT))
        calls = min(-(-BLOCK_NS // pilot), MAX_CALLS)
        return calls, [round(block_ns(graph, stream, calls) / calls) for _ in range(BLOCKS)]


def check(t):
    projection = (t["x"].double() @ t["wt"].double().t()).half()
    expected = (projection.double() + t["bias"].double()).half().double()
    error = (t["y"].double() - expected).abs()
    # A projection on the border between two F16 values may fall to either side: allow its last place, too.
    allowed = 2e-4 + 2e-3 * expected.abs() + projection.double().abs() * 2**-10
    if not bool((error <= allowed).all()):
        raise SystemExit("torch_graph: the replayed graph gives wrong numbers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--features", type=int, default=1024)
    parser.add_argument("--k", type=int, default=768)
    size = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("torch_graph: no CUDA device here")
    with torch.inference_mode():
        tensors = make_tensors(size.batch, size.features, size.k)
        stream = torch.cuda.Stream()
        matmul, operations = first_that_works(tensors)
        graph = capture(operations, tensors, stream)
        tensors["y"].fill_(float("nan"))
        torch.cuda.synchronize()
        calls, samples = measure(graph, stream)
        check(tensors)
    print(json.dumps({
        "scope": "host_graph_launch_sync",
        "median_ns": round(statistics.median(samples)),
        "samples_ns": samples,
        "calls_per_block": calls,
        "matmul": matmul,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name(),
        "batch": size.batch,
        "features": size.features,
        "k": size.k,
    }))


if __name__ == "__main__":
    main()
