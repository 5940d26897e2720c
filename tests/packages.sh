#!/bin/sh
# Installs what is missing, on Debian and Ubuntu: what the build needs, or with `all` what testing and linting need too.
# With `cuda`, the CUDA wheels instead, into the virtual environment build/cuda; then: make PYTHON=build/cuda/bin/python
#
# With `interop`, the packages that tests/interop compares with, into build/interop.
#
#   tests/packages.sh [build|all|cuda|interop]
set -eu
if [ "${1-}" = cuda ]; then
    python3 -m venv build/cuda
    # The release that the retained PTX was compiled by.
    exec build/cuda/bin/pip install --disable-pip-version-check -q 'nvidia-cuda-runtime==13.0.*' 'nvidia-cuda-crt==13.0.*' \
        'nvidia-cuda-cccl==13.0.*' 'nvidia-cuda-nvrtc==13.0.*' 'nvidia-cuda-cupti==13.0.*' 'nvidia-cublas==13.1.0.*'
fi
if [ "${1-}" = interop ]; then
    [ -x build/interop/bin/python ] || python3 -m venv build/interop
    exec build/interop/bin/pip install --disable-pip-version-check -q 'securesystemslib>=1.3,<2' 'in-toto-attestation==0.9.*' \
        'rfc8785==0.1.*' 'safetensors<1' numpy cryptography
fi
want="build-essential pkg-config libcjson-dev libssl-dev libzstd-dev zstd git"
if [ "${1:-build}" = all ]; then
    want="$want libcriterion-dev clang libclang-rt-dev clang-format shellcheck python3 python3-venv"
fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "not a Debian system; what is needed goes there by the names: $want"
    exit 0
fi
missing=
for p in $want; do
    case $(dpkg-query -W -f='${db:Status-Status} ' "$p" 2>/dev/null) in
    *"installed "*) ;;
    *) missing="$missing $p" ;;
    esac
done
[ -n "$missing" ] || exit 0
root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "not installed, and this is not root:$missing"
        exit 0
    fi
    root=sudo
fi
echo "installing:$missing"
$root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 update >/dev/null
# shellcheck disable=SC2086
$root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 install --no-install-recommends $missing
