#!/usr/bin/env bash
# Builds the broker and the Swift clients for release, and runs three nodes on Redis while one thing after the other fails.
#
#     make cluster                                  a million deliveries over 1,000 faults of all kinds
#     make cluster FAULT='node killed'              one kind; "make cluster FAULT=?" lists them
#     make cluster DELIVERIES=100000 FAULTS=50      less
#     make cluster PUSHER_JS=pusher.min.js          with pusher-js as well: an unmodified bundle
#     make cluster SEED=42                          the faults of an earlier run
#
# PROGRAMS=path uses an existing build.

set -euo pipefail
cd "$(dirname "$0")/../.."

options=()
[ -z "${FAULT:-}" ] || options+=(--faults "$FAULT")
[ -z "${DELIVERIES:-}" ] || options+=(--deliveries "$DELIVERIES")
[ -z "${FAULTS:-}" ] || options+=(--count "$FAULTS")
[ -z "${SEED:-}" ] || options+=(--seed "$SEED")
cluster() { PYTHONPATH=Tests/witnesses PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m cluster "$@"; }
[ "${FAULT:-}" != '?' ] || { cluster --help; exit 0; }

programs=${PROGRAMS:-}
if [ -z "$programs" ]; then
    echo 'Building for release (some minutes the first time) …'
    config/scripts/build.sh release fanfare recovery-subscribers
    programs=$(config/scripts/build.sh path release)
fi
FANFARE_BUILD=$programs cluster "${options[@]}" "$@"
