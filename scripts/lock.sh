#!/bin/sh
# Write the lock files again from pyproject.toml: exact versions and hashes, valid for every supported Python and platform.
# No index, link or path of the machine it runs on may get into them.
set -eu

cd "$(dirname "$0")/.."

UV=.venv/bin/uv

compile() {
    output=$1
    shift
    "$UV" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
        --no-emit-index-url --no-emit-find-links --no-emit-build-options \
        --output-file "$output" "$@" pyproject.toml
    {
        printf '# Written by "make lock" from pyproject.toml; do not edit.\n'
        grep -vE '^ *#.*://|^--' "$output"
    } >"$output.new"
    mv "$output.new" "$output"
    if grep -nE '://|file:|(^|[[:space:]])/' "$output"; then
        printf 'lock: error: %s names an address or a path, see above\n' "$output" >&2
        exit 1
    fi
}

# UPGRADE=1 takes the newest versions; without it what is pinned stays pinned.
upgrade=${UPGRADE:+--upgrade}
# shellcheck disable=SC2086
compile requirements/dev.txt $upgrade --all-extras --group dev
compile requirements/core.txt --constraints requirements/dev.txt --upgrade
