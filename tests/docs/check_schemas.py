#!/usr/bin/env python3
"""The JSON Schemas of docs/schemas against real documents: the shipped workloads', those of retained evidence, and what the
commands print now. Without the jsonschema module it says so and passes.

    tests/docs/check_schemas.py BUILD [EVIDENCE...]     EVIDENCE defaults to artifacts/evidence/*
"""
import base64
import copy
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
except ImportError:
    print("skipped: no jsonschema module for this python3")
    sys.exit(0)

TOP = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SCHEMAS = os.path.join(TOP, "docs/schemas")
# Objects that the readers leave open: the capture's own account, and free annotations.
OPEN = {"capture"}

validators, faults, counts = {}, [], {}


def fault(text):
    faults.append(text)


def once(pairs):
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError("a key occurs twice")
    return out


def parse(text):
    return json.loads(text, object_pairs_hook=once)


def closed(schema, node, where):
    """Every object says which keys it has, and that there are no others."""
    if isinstance(node, list):
        for i, x in enumerate(node):
            closed(schema, x, "%s/%d" % (where, i))
    elif isinstance(node, dict):
        if "properties" in node and node.get("additionalProperties") is not False and schema not in OPEN:
            if not where.endswith("oneOf") and "type" in node:
                fault("%s: %s: an open object" % (schema, where))
        for k, v in node.items():
            closed(schema, v, where + "/" + k)


def load():
    with open(SCHEMAS + "/README.md", encoding="utf-8") as f:
        index = f.read()
    for path in sorted(glob.glob(SCHEMAS + "/*.schema.json")):
        name = os.path.basename(path)[: -len(".schema.json")]
        with open(path, encoding="utf-8") as f:
            schema = parse(f.read())
        Draft202012Validator.check_schema(schema)
        if schema["$id"] != "https://replay.invalid/schemas/%s.schema.json" % name:
            fault("%s: its $id names another file" % name)
        if "(%s.schema.json) | %s |" % (name, schema["title"]) not in index:
            fault("docs/schemas/README.md: no row for %s with its title" % name)
        closed(name, schema, "")
        validators[name] = Draft202012Validator(schema)


def check(name, text, shown):
    counts[name] = counts.get(name, 0) + 1
    try:
        doc = parse(text)
    except ValueError as e:
        fault("%s: not JSON: %s" % (shown, e))
        return
    error = best_match(validators[name].iter_errors(doc))
    if error:
        fault("%s: %s: /%s: %s" % (shown, name, "/".join(map(str, error.absolute_path)), error.message[:300]))
        return
    # A key that no format has is refused, so the schema refuses it too.
    if isinstance(doc, dict) and name != "probe":
        doc = copy.copy(doc)
        doc["no_such_key"] = 1
        if validators[name].is_valid(doc):
            fault("%s: %s: accepts a key that the format does not have" % (shown, name))


def check_file(name, path):
    with open(path, encoding="utf-8") as f:
        check(name, f.read(), os.path.relpath(path, TOP))


def check_documents(folder):
    """The documents of a bundle, in a folder."""
    one = {"capture.json": "capture", "reference.json": "reference", "contract.json": "contract", "manifest.json": "manifest",
           "plan/plan.json": "plan", "plan/arena.json": "arena", "plan/resolved_calls.json": "calls"}
    for path, name in one.items():
        full = os.path.join(folder, path)
        if os.path.exists(full):
            check_file(name, full)
        elif path not in ("manifest.json", "capture.json"):
            fault("%s: absent" % os.path.relpath(full, TOP))
    with open(os.path.join(folder, "plan/plan.json"), encoding="utf-8") as f:
        renderer = json.load(f)["policy"]["renderer"]
    if renderer == "luminal-text/1":
        check_file("typed_ops", os.path.join(folder, "plan/typed_ops.json"))
    for path in sorted(glob.glob(folder + "/kernels/*.json")):
        check_file("kernel", path)
    for path in sorted(glob.glob(folder + "/fixtures/*.json")):
        check_file("recipe", path)


def check_evidence(folder):
    """A run's folder; one of several runs holds campaign.json or pair.json and their folders."""
    several = [f for f in ("campaign.json", "pair.json") if os.path.exists(os.path.join(folder, f))]
    if several:
        for name in several:
            check_file(name[: -len(".json")], os.path.join(folder, name))
        for below in sorted(glob.glob(folder + "/*/")):
            check_evidence(below.rstrip("/"))
        return
    if not os.path.exists(folder + "/evidence.json"):
        fault("%s: no evidence of a run" % folder)
        return
    check_documents(folder + "/bundle")
    for name in ("evidence", "environment", "plan_signature"):
        check_file(name, "%s/%s.json" % (folder, name))
    for phase in sorted(glob.glob(folder + "/phases/*/")):
        for name in ("job", "result", "observed_signature", "instructions"):
            if os.path.exists(phase + name + ".json"):
                check_file(name, phase + name + ".json")


def live(name, exits, argv, gpu=False):
    env = dict(os.environ)
    if not gpu:
        env["REPLAY_GPU"] = "/nonexistent/replay-gpu"
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, check=False)
    shown = "replay " + " ".join(argv[1:])
    if done.returncode not in exits:
        fault("%s: exit %d" % (shown, done.returncode))
    check(name, done.stdout.decode("utf-8"), shown)
    return done.stdout


def live_compile(worker, tmp):
    """The worker's compile mode, which needs NVRTC and no GPU."""
    request = {"format": "replay-compile/0", "name": "k.cu", "options": [], "trusted": False}
    with open(tmp + "/request", "w", encoding="utf-8") as f:
        json.dump(request, f)
    with open(tmp + "/k.cu", "w", encoding="utf-8") as f:
        f.write('extern "C" __global__ void k(float *p) { p[threadIdx.x] = 1.0f; }\n')
    check_file("compile", tmp + "/request")
    line = 'exec "$0" --compile 3<request 4<k.cu 5>answer 6>ptx'
    done = subprocess.run(["sh", "-c", line, worker], cwd=tmp, stderr=subprocess.DEVNULL, check=False)
    if done.returncode == 0:
        check_file("compiled", tmp + "/answer")
    elif done.returncode != 4:
        fault("replay-gpu --compile: exit %d" % done.returncode)


def live_signed(replay, bundle, tmp):
    """Signing and attesting, with a key made here by the openssl program."""
    key = tmp + "/key.pem"
    made = ["openssl", "genpkey", "-algorithm", "ed25519", "-out", key]
    if not shutil.which("openssl") or subprocess.run(made, stderr=subprocess.DEVNULL, check=False).returncode:
        return
    live("signed", [0], [replay, "sign", bundle, "--key", key, "-o", tmp + "/envelope", "--json"])
    live("attested", [0], [replay, "attest", bundle, "--quick", "-o", tmp + "/statement", "--json"])
    for name in ("envelope", "statement"):
        if os.path.exists(tmp + "/" + name):
            check_file(name, tmp + "/" + name)
    if os.path.exists(tmp + "/envelope"):
        with open(tmp + "/envelope", encoding="utf-8") as f:
            check("statement", base64.b64decode(json.load(f)["payload"]).decode(), "the envelope's payload")


def live_signed_audit(replay, folder, tmp):
    """A verdict about evidence, signed by the key of live_signed, and read back."""
    key = tmp + "/key.pem"
    if not os.path.exists(key):
        return
    statement, public = tmp + "/run.dsse.json", tmp + "/key.pub"
    live("attested", [0], [replay, "attest", folder, "--key", key, "-o", statement, "--json"])
    subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-out", public], check=True)
    live("audit", [0], [replay, "audit", folder, "--attestation", statement, "--key", public, "--require", "signed", "--json"])
    with open(statement, encoding="utf-8") as f:
        check("statement", base64.b64decode(json.load(f)["payload"]).decode(), "the payload about a run")


def live_imported(replay, tmp):
    """Two logs, an XLA dump without library calls and one with: what import writes of each call and module."""
    for name in ("pytorch-2.11", "transformers-bert-gpt2"):
        out = os.path.join(tmp, name)
        log = os.path.join(TOP, "tests/data/cublaslt-trace-%s.log.zst" % name)
        live("imported", [0], [replay, "import", "cublaslt-log", log, "-o", out, "--json"])
        check_file("imported_log", out + "/calls.json")
        for call in sorted(glob.glob(out + "/call-*")):
            check_documents(call)
    for name in ("xla-default", "xla-cublaslt"):
        packed = os.path.join(TOP, "tests/data/xla-dump/%s.tar.zst" % name)
        line = 'zstd -dcq "$1" | tar x -C "$2"'
        if subprocess.run(["sh", "-c", line, "sh", packed, tmp], stderr=subprocess.DEVNULL, check=False).returncode:
            return
        out = os.path.join(tmp, name + ".imported")
        live("imported", [0], [replay, "import", "xla-dump", os.path.join(tmp, name), "-o", out, "--json"])
        for module in sorted(glob.glob(out + "/*/")):
            check_file("imported_xla", module + "dump.json")
            check_file("omitted", module + "plan/omitted.json")
            for path, schema in (("plan/plan.json", "plan"), ("plan/arena.json", "arena"), ("plan/resolved_calls.json", "calls"),
                                 ("capture.json", "capture")):
                check_file(schema, module + "plan/" + path)
            if os.path.exists(module + "calls"):
                check_documents(module + "calls")


def check_commands(build, evidence):
    replay = os.path.join(build, "replay")
    with tempfile.TemporaryDirectory() as tmp:
        workload = os.path.join(TOP, "artifacts/workloads/weight_view.small")
        bundle = os.path.join(tmp, "small.tar.zst")
        live("packed", [0], [replay, "pack", workload, "-o", bundle, "--json"])
        live("manifest", [0], [replay, "inspect", bundle, "--json"])
        live("verdict", [0], [replay, "verify", bundle, bundle, "--json"])
        live("verdict", [0], [replay, "verify", bundle, "--quick", "--capture", workload + "/capture.json", "--json"])
        live("verdict", [1], [replay, "verify", bundle, "--quick", "--root", "sha256:" + 64 * "0", "--json"])
        live("resolved", [0], [replay, "resolve", bundle, "--cpu-only", "--json"])
        live("answer", [1], [replay, "resolve", "--call", "m=63 n=128 k=256 a=e4m3,T c=bf16 d=e4m3", "--json"])
        live("agreement", [1], [replay, "resolve", "--against", os.path.join(TOP, "tests/data/lt-support-h200-cublaslt-13.1.csv.xz"), "--json"])
        live_imported(replay, tmp)
        live("imported", [0], [replay, "import", "cublaslt-log", os.path.join(TOP, "tests/data/cublaslt-trace-pytorch-2.11.log.zst"), "-o", tmp + "/log", "--json"])
        live("run", [4], [replay, "run", bundle, "--out", tmp + "/none", "--json"])
        live("runs", [0], [replay, "run", bundle, bundle, "--device", "emu", "--phases", "2", "--out", tmp + "/several", "--json"])
        live("runs", [4], [replay, "run", bundle, "--pair", bundle, bundle, "--device", "gpu", "--out", tmp + "/nothing", "--json"])
        live("audit", [0], [replay, "audit", tmp + "/several", tmp + "/several/small", "--json"])
        live("attested", [0], [replay, "attest", tmp + "/several", "-o", tmp + "/several.json", "--json"])
        check_file("statement", tmp + "/several.json")
        live("pair_run", [4], [replay, "run", "--pair", bundle, bundle, "--out", tmp + "/nothing-either", "--json"])
        live("comparison", [0], [replay, "compare", bundle, bundle, "--json"])
        live_signed(replay, bundle, tmp)
        live("error", [3], [replay, "verify", tmp + "/absent", "--json"])
        live("version", [0], [replay, "version", "--json"])
        if os.path.exists(replay + "-gpu"):
            live("version", [0], [replay, "version", "--json"], gpu=True)
            live("probe", [0, 4], [replay + "-gpu", "--probe"], gpu=True)
            live_compile(os.path.abspath(replay + "-gpu"), tmp)
        runs = [folder for folder in evidence if os.path.exists(folder + "/evidence.json")]
        if runs:
            live("audit", [0], [replay, "audit", runs[0], "--json"])
            live("comparison", [0], [replay, "compare", runs[0], runs[0], "--json"])
            live_signed_audit(replay, runs[0], tmp)
        for pair in glob.glob(TOP + "/artifacts/evidence/*/*/pair.json") if os.environ.get("REPLAY_FULL") else []:
            live("audit", [0], [replay, "audit", os.path.dirname(pair), "--json"])


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    evidence = sys.argv[2:] or sorted(glob.glob(TOP + "/artifacts/evidence/*/"))
    load()
    for folder in sorted(glob.glob(TOP + "/artifacts/workloads/*/")):
        check_documents(folder.rstrip("/"))
    for folder in evidence:
        check_evidence(folder.rstrip("/"))
    check_commands(sys.argv[1], evidence)
    for text in faults:
        print(text)
    unused = sorted(set(validators) - set(counts))
    print("%d documents, %d schemas, %d folders of evidence, %d faults%s"
          % (sum(counts.values()), len(validators), len(evidence), len(faults), "; not met: " + ", ".join(unused) if unused else ""))
    sys.exit(1 if faults else 0)


main()
