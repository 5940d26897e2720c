#!/usr/bin/env python3
"""Write kernels/NNN_name.json beside each kernels/NNN_name.cu of a workload: what `replay-gpu --compile` made of it, with which
compiler, options and headers. The PTX beside it must be what comes out, or nothing is written; where there is none yet, it is written too.
Records and PTX whose source is gone are removed.

usage: kernel_record.py REPLAY_GPU WORKLOAD_DIR..."""
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

OPTIONS = ["--include-path=$CUDA_INCLUDE"]


def compile_one(worker, name, source):
    request = json.dumps({"format": "replay-compile/0", "name": name, "options": OPTIONS, "trusted": False}).encode()
    with tempfile.TemporaryFile() as rq, tempfile.TemporaryFile() as src, tempfile.TemporaryFile() as ans, tempfile.TemporaryFile() as ptx:
        files = [rq, src, ans, ptx]
        for f, data in ((rq, request), (src, source)):
            f.write(data)
            f.flush()
            f.seek(0)

        def place():
            high = [os.dup2(f.fileno(), 50 + i) for i, f in enumerate(files)]
            for i, fd in enumerate(high):
                os.dup2(fd, 3 + i)

        subprocess.run([worker, "--compile"], check=True, close_fds=False, preexec_fn=place)
        ans.seek(0)
        ptx.seek(0)
        return json.loads(ans.read()), ptx.read()


def main():
    worker = sys.argv[1]
    for folder in map(pathlib.Path, sys.argv[2:]):
        for left in folder.glob("kernels/*"):
            if not left.with_suffix(".cu").exists():
                left.unlink()
        for cu in sorted(folder.glob("kernels/*.cu")):
            source = cu.read_bytes()
            relative = cu.relative_to(folder)
            answer, ptx = compile_one(worker, str(relative), source)
            if not answer["ok"]:
                sys.exit(f"{cu}: {answer['log']}")
            if not cu.with_suffix(".ptx").exists():
                cu.with_suffix(".ptx").write_bytes(ptx)
            elif ptx != cu.with_suffix(".ptx").read_bytes():
                sys.exit(f"{cu.with_suffix('.ptx')}: expected the PTX that recompiling gives, found another")
            record = {
                "format": "replay-kernel/1",
                "source": str(relative),
                "source_sha256": hashlib.sha256(source).hexdigest(),
                "entry": "k",
                "compiler": answer["compiler"],
                "version": answer["version"],
                "build": answer["build"],
                "options": OPTIONS,
                "headers": answer["headers"],
                "ptx": str(relative.with_suffix(".ptx")),
                "ptx_sha256": hashlib.sha256(ptx).hexdigest(),
            }
            cu.with_suffix(".json").write_text(json.dumps(record, indent=2) + "\n")


main()
