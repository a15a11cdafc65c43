#!/bin/sh
# Makes .venv with the first Python >= 3.12 that really works, and installs attnjax into it.
# What is there already is kept: a working .venv is only brought up to date.
#
#   sh launch/setup.sh [EXTRA]      JAX for CPUs; with cuda for GPUs, with tpu for TPUs
set -eu
extra=${1:-}
cd "$(dirname "$0")/.."

# A pyenv shim can be on the path and fail, and Debian's python can lack ensurepip: so each is asked.
works() {
    "$1" -c 'import sys, venv, ensurepip; sys.exit(not (3, 12) <= sys.version_info < (3, 15))' \
        >/dev/null 2>&1
}

find_python() {
    for candidate in python3.12 python3.13 python3.14 python3 \
        "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[234]*/bin/python; do
        if works "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    if uv python install --quiet 3.12 2>/dev/null; then
        uv python find 3.12
    fi
}

# JAX for one accelerator makes room for that of another. Each .ready-EXTRA is a file of make.
others=$(find .venv -maxdepth 1 -name '.ready-?*' ! -name ".ready-$extra" 2>/dev/null || true)
rm -f .venv/.ready-*
if [ -n "$others" ] || ! works .venv/bin/python; then
    python=$(find_python)
    if [ -z "$python" ]; then
        echo "attnjax needs Python 3.12, 3.13 or 3.14 with its venv module: install one (https://www.python.org/downloads) and run this again." >&2
        exit 2
    fi
    echo "Making .venv with $("$python" --version)" >&2
    "$python" -m venv --clear .venv
fi

# uv installs in seconds what takes pip minutes. Every command starts seconds faster for bytecode that
# is there, also where the environment forbids Python to write it (PYTHONDONTWRITEBYTECODE).
.venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt uv
.venv/bin/python -m uv pip install --quiet --compile-bytecode --python .venv/bin/python \
    -c constraints.txt -e ".[dev,docs${extra:+,$extra}]"
