#!/usr/bin/env bash
# Builds the broker for release and attacks it with clients that have only the app's public key.
#
#     make hostile                ten minutes, half of them against one broker, half against two nodes
#     make hostile MINUTES=1      less
#     hostile.sh --settings file  one broker alone
#
# PROGRAMS=path uses an existing build.

set -euo pipefail
cd "$(dirname "$0")/../.."

programs=${PROGRAMS:-}
if [ -z "$programs" ]; then
    echo 'Building for release (some minutes the first time) …'
    config/scripts/build.sh release fanfare
    programs=$(config/scripts/build.sh path release)
fi
FANFARE_BUILD=$programs PYTHONPATH=Tests/witnesses PYTHONDONTWRITEBYTECODE=1 \
    .venv/bin/python -m hostile --minutes "${MINUTES:-10}" "$@"
