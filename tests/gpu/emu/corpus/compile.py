#!/usr/bin/env python3
"""Compile every .cu of a folder to the .ptx beside it with NVRTC, for sm_90. Needs CUDA's libraries, no GPU.

usage: compile.py FOLDER... (with LD_LIBRARY_PATH and CUDA_HOME where CUDA is not in the usual place)"""
import ctypes
import os
import pathlib
import sys

home = os.environ.get("CUDA_HOME", "/usr/local/cuda")


def library():
    for name in ("libnvrtc.so.13", f"{home}/lib64/libnvrtc.so.13", f"{home}/lib/libnvrtc.so.13", "libnvrtc.so"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            pass
    sys.exit("no NVRTC found")


def compile_one(nvrtc, path):
    program, n = ctypes.c_void_p(), ctypes.c_size_t()
    source = path.read_bytes()
    options = [b"--gpu-architecture=compute_90", b"-lineinfo", b"--device-int128", f"-I{home}/include".encode()]
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, path.name.encode(), 0, None, None)
    failed = nvrtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*options))
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(n))
    log = ctypes.create_string_buffer(n.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if failed:
        sys.exit(f"{path}: {log.value.decode()}")
    nvrtc.nvrtcGetPTXSize(program, ctypes.byref(n))
    ptx = ctypes.create_string_buffer(n.value)
    nvrtc.nvrtcGetPTX(program, ptx)
    text = ptx.raw[: n.value - 1]
    for prefix in (f"{home}/include/", f"{os.getcwd()}/"):
        text = text.replace(prefix.encode(), b"")
    path.with_suffix(".ptx").write_bytes(text)
    print(f"{path.name}: {text.count(b'.entry')} entries")


for folder in sys.argv[1:]:
    for cu in sorted(pathlib.Path(folder).glob("*.cu")):
        compile_one(library(), cu)
