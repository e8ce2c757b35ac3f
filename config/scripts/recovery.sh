#!/usr/bin/env bash
# Builds the broker and the Swift clients for release, and measures the loss table of docs/proof/reliability.md.
#
#     make recovery                                  10 million deliveries over 10,000 cuts
#     make recovery DELIVERIES=1000000 CUTS=1000     less
#     make recovery PUSHER_JS=pusher.min.js          with pusher-js as well: an unmodified bundle
#     make recovery SEED=42                          the faults of an earlier run
#
# PROGRAMS=path uses an existing build.

set -euo pipefail
cd "$(dirname "$0")/../.."

programs=${PROGRAMS:-}
if [ -z "$programs" ]; then
    echo 'Building for release (some minutes the first time) …'
    config/scripts/build.sh release fanfare recovery-subscribers
    programs=$(config/scripts/build.sh path release)
fi

options=()
[ -z "${DELIVERIES:-}" ] || options+=(--deliveries "$DELIVERIES")
[ -z "${CUTS:-}" ] || options+=(--cuts "$CUTS")
[ -z "${SEED:-}" ] || options+=(--seed "$SEED")
FANFARE_BUILD=$programs PYTHONPATH=Tests/witnesses PYTHONDONTWRITEBYTECODE=1 \
    .venv/bin/python -m recovery "${options[@]}" "$@"
