"""Writes the seeds of corpus/store: small archives, whole and broken, made with Python's tarfile and the zstd program alone.

Run in this folder: python3 store.py
"""
import hashlib, io, json, os, subprocess, tarfile

FILES = {
    "capture.json": b'{"a":1}',
    "kernels/000_cast.cu": b"__global__ void k() {}\n",
    "plan/plan.json": b'{"nodes":[]}',
}
ROLES = {"capture.json": "capture", "kernels/000_cast.cu": "source", "plan/plan.json": "plan"}


def manifest(files):
    entries = [
        {"path": p, "bytes": len(b), "sha256": hashlib.sha256(b).hexdigest(), "role": ROLES[p]}
        for p, b in sorted(files.items())
    ]
    doc = {"format": "replay-bundle/1", "name": "seed", "files": entries, "omitted": []}
    return (json.dumps(doc, indent=2) + "\n").encode()


def header(path, size):
    h = bytearray(512)
    h[: len(path)] = path.encode()
    for at, text in ((100, b"0000644"), (108, b"0000000"), (116, b"0000000"), (136, b"00000000000"), (156, b"0"),
                     (257, b"ustar\00000"), (329, b"0000000"), (337, b"0000000")):
        h[at : at + len(text)] = text
    h[124:135] = b"%011o" % size
    h[148:156] = b" " * 8
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def stream(files, text):
    out = b""
    for path, data in [("manifest.json", text), *sorted(files.items())]:
        out += header(path, len(data)) + data + bytes(-len(data) % 512)
    return out + bytes(1024)


def zstd(data, *options):
    return subprocess.run(["zstd", "-qc", *options], input=data, capture_output=True, check=True).stdout


def sized(data):
    """A frame that states its content size, as `zstd` writes it for a file."""
    name = "/tmp/replay-corpus-seed"
    with open(name, "wb") as f:
        f.write(data)
    out = subprocess.run(["zstd", "-qc", name], capture_output=True, check=True).stdout
    os.remove(name)
    return out


def main():
    os.makedirs("store", exist_ok=True)
    text = manifest(FILES)
    whole = stream(FILES, text)
    assert tarfile.open(fileobj=io.BytesIO(whole)).getnames() == ["manifest.json", *sorted(FILES)]
    several = b"".join(sized(whole[i : i + 1500]) for i in range(0, len(whole), 1500))
    fewer = {p: b for p, b in FILES.items() if p != "kernels/000_cast.cu"}
    wrong = bytearray(whole)
    wrong[-1024 - 512] ^= 1
    seeds = {
        "one": sized(whole),
        "streamed": zstd(whole),
        "no-checksum": zstd(whole, "--no-check"),
        "several": several,
        "cut": several[: len(several) // 2],
        "trailing": several + b"x",
        "skippable": several + b"\x50\x2a\x4d\x18\0\0\0\0",
        "missing": sized(stream(fewer, text)),
        "extra": sized(stream(FILES, manifest(fewer))),
        "wrong-byte": sized(bytes(wrong)),
        "more-zeros": sized(whole + bytes(512)),
        "no-manifest": sized(stream(FILES, b"{}")),
        "plain-tar": whole,
    }
    for name, data in seeds.items():
        with open(os.path.join("store", name), "wb") as f:
            f.write(data)


main()
