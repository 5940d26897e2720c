#!/usr/bin/env python3
"""Our envelopes, statements, canonical JSON and safetensors files against the packages that define or lead those formats, both ways.

    tests/interop/check_interop.py BUILD BUNDLES

A package that is not installed is named and its part left out (`tests/packages.sh interop` installs all). Exit 1 where anything differs.
"""
import base64
import hashlib
import importlib
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import tempfile

failed = []
done = []
absent = []


def module(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        absent.append(name)
        return None


def check(ok, what):
    done.append(what)
    if not ok:
        failed.append(what)
        print("FAIL", what)


def run(*args):
    r = subprocess.run([replay, *args], capture_output=True, text=True)
    return r.returncode, r.stdout + r.stderr


def openssl(*args):
    subprocess.run(["openssl", *args], check=True, capture_output=True)


def keys():
    openssl("genpkey", "-algorithm", "ed25519", "-out", "ed.pem")
    openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", "p256.pem")
    for k in ("ed", "p256"):
        openssl("pkey", "-in", k + ".pem", "-pubout", "-out", k + ".pub")


def extract(bundle):
    packed = subprocess.run(["zstd", "-dcq", bundle], check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as t:
        return {m.name: t.extractfile(m).read() for m in t.getmembers()}


def envelopes(bundle):
    lib, serialization = module("securesystemslib"), module("cryptography.hazmat.primitives.serialization")
    if not lib or not serialization:
        return
    from securesystemslib import exceptions
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

    def public(name):
        with open(name + ".pub", "rb") as f:
            key = serialization.load_pem_public_key(f.read())
        der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
        return SSlibKey.from_crypto(key, keyid=hashlib.sha256(der).hexdigest())

    def signer(name):
        with open(name + ".pem", "rb") as f:
            return CryptoSigner(serialization.load_pem_private_key(f.read(), None), public(name))

    run("sign", bundle, "--key", "ed.pem", "--key", "p256.pem", "-o", "ours.json")
    with open("ours.json") as f:
        ours = Envelope.from_dict(json.load(f))
    for names in (["ed"], ["p256"], ["ed", "p256"]):
        check(len(ours.verify([public(n) for n in names], len(names))) == len(names), f"securesystemslib accepts ours, {names}")
    try:
        Envelope(ours.payload + b" ", ours.payload_type, ours.signatures).verify([public("ed")], 1)
        check(False, "securesystemslib refuses a changed payload")
    except exceptions.VerificationError:
        check(True, "securesystemslib refuses a changed payload")

    theirs = Envelope(ours.payload, ours.payload_type, {})
    theirs.sign(signer("ed"))
    theirs.sign(signer("p256"))
    standard = theirs.to_dict()
    url = json.loads(json.dumps(standard))
    for obj, key in [(url, "payload")] + [(s, "sig") for s in url["signatures"]]:
        obj[key] = base64.urlsafe_b64encode(base64.b64decode(obj[key])).decode()
    for name, d in (("standard", standard), ("url", url)):
        with open("theirs.json", "w") as f:
            json.dump(d, f)
        code, out = run("verify", bundle, "--quick", "--key", "ed.pub", "--key", "p256.pub", "--threshold", "2", "--require", "signed",
                        "--envelope", "theirs.json")
        check(code == 0 and "trust: signed" in out, f"we accept securesystemslib's, {name} alphabet")
    other = Envelope(ours.payload, "application/json", {})
    other.sign(signer("ed"))
    with open("theirs.json", "w") as f:
        json.dump(other.to_dict(), f)
    code, out = run("verify", bundle, "--quick", "--key", "ed.pub", "--envelope", "theirs.json")
    check(code == 1 and "trust.payload_type" in out, "we refuse another payload type")


def statements(bundle, root):
    if not module("in_toto_attestation") or not module("google.protobuf.json_format"):
        return
    import in_toto_attestation.v1.resource_descriptor as resource
    import in_toto_attestation.v1.statement as st
    import in_toto_attestation.v1.statement_pb2 as spb
    from google.protobuf import json_format

    with open("ours.json") as f:
        payloads = {"signed bundle": base64.b64decode(json.load(f)["payload"])}
    run("attest", bundle, "--quick", "-o", "verdict.json")
    with open("verdict.json", "rb") as f:
        payloads["verdict"] = f.read()
    with open("broken.tar.zst", "wb") as f:
        f.write(b"no archive")
    run("attest", "broken.tar.zst", "--quick", "-o", "refused.json")
    with open("refused.json", "rb") as f:
        payloads["refusal"] = f.read()
    for name, text in payloads.items():
        s = st.Statement.copy_from_pb(json_format.Parse(text, spb.Statement()))
        s.validate()
        want = hashlib.sha256(b"no archive").hexdigest() if name == "refusal" else root
        check(s.pb.subject[0].digest["sha256"] == want, f"in-toto-attestation accepts our {name}")
    s = json_format.Parse(payloads["verdict"], spb.Statement())
    check(s.predicate["verdict"] == "passed", "and reads the verdict")

    theirs = st.Statement([resource.ResourceDescriptor(name="manifest.json", digest={"sha256": root}).pb],
                          "https://replay-bundle.example/verdict/v0", {"format": "replay-attestation/0", "about": "bundle", "verdict": "passed"})
    theirs.validate()
    with open("theirs.json", "w") as f:
        f.write(json_format.MessageToJson(theirs.pb))
    code, out = run("verify", bundle, "--quick", "--attestation", "theirs.json")
    check(code == 0, "we accept in-toto-attestation's statement")
    theirs.pb.predicate["verdict"] = "rejected"
    with open("theirs.json", "w") as f:
        f.write(json_format.MessageToJson(theirs.pb))
    code, out = run("verify", bundle, "--quick", "--attestation", "theirs.json")
    check(code == 1 and "trust.verdict" in out, "and see where its verdict is not ours")


def canonical(files):
    jcs = module("rfc8785")
    if not jcs:
        return
    for path in ("plan/typed_ops.json",):
        text = files[path]
        check(jcs.dumps(json.loads(text)) == text.rstrip(b"\n"), f"rfc8785 gives {path} again")
    # What tests/artifacts/test_statement.c expects of RFC 8785, 3.2.2 and 3.2.3 is what the package makes of it.
    keys = ["\r", "1", "\x80", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    text = jcs.dumps({k: "v" for k in reversed(keys)}).decode()
    check(list(json.loads(text)) == keys, "rfc8785's order of keys is ours")
    check(jcs.dumps("\u20ac$\x0f\nA'B\"\\\\\"/") == b"\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"", "rfc8785's strings are ours")


def safetensors(files):
    lib, numpy = module("safetensors.numpy"), module("numpy")
    if not lib or not numpy:
        return
    for path, data in files.items():
        if not path.endswith(".safetensors"):
            continue
        tensors = lib.load(data)
        (n,) = struct.unpack("<Q", data[:8])
        header = json.loads(data[8:8 + n])
        ok = set(tensors) == set(header)
        for name, t in tensors.items():
            begin, end = header[name]["data_offsets"]
            ok = ok and list(t.shape) == header[name]["shape"] and t.tobytes() == data[8 + n + begin:8 + n + end]
        check(ok, f"safetensors reads {path}")
    for dtype in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        a = numpy.arange(24).reshape(2, 3, 4).astype(dtype)
        with open("theirs.safetensors", "wb") as f:
            f.write(lib.save({"x": a, "y": a[0].copy()}, metadata={"by": "safetensors"}))
        r = subprocess.run([reader, "theirs.safetensors"], capture_output=True, text=True)
        want = f"x {a.nbytes} {hashlib.sha256(a.tobytes()).hexdigest()}"
        check(r.returncode == 0 and want in r.stdout.splitlines(), f"we read safetensors' {dtype}: {r.stderr}")


build, bundles = map(os.path.abspath, sys.argv[1:3])
replay = os.path.join(build, "replay")
reader = os.path.join(build, "tests", "read-safetensors")
bundle = os.path.join(bundles, "weight_view.small.tar.zst")
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    keys()
    inside = extract(bundle)
    envelopes(bundle)
    statements(bundle, hashlib.sha256(inside["manifest.json"]).hexdigest())
    canonical(inside)
    safetensors(inside)
    os.chdir("/")
for name in absent:
    print(f"note: no package {name}, its part was left out")
print(f"interop: {len(done) - len(failed)} passed, {len(failed)} failed")
sys.exit(1 if failed else 0)
