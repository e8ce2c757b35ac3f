#!/usr/bin/env bash
# Builds the broker for release, measures it beside other servers, and draws the chart.
#
#     make bench                         the scenarios of the picture, 3 rounds, some ten minutes
#     make bench SET=full ROUNDS=7       every scenario of docs/proof/benchmarks.md; needs an idle machine
#     make bench ONLY='churn many-sat'   some scenarios; the picture does not change
#     make bench PINNED=1                one core for a single-threaded server, another for the load
#     make bench SERVERS='rawfan nchan'  only these references
#
# Results go to Benchmarks/results/latest.jsonl, the picture to config/pictures/benchmarks.svg.

set -euo pipefail
cd "$(dirname "$0")/../.."

readonly rounds=${ROUNDS:-3} set=${SET:-quick}
read -ra only <<<"${ONLY:-}"
read -ra servers <<<"${SERVERS:-}"

if [ "$(ulimit -Hn)" -lt 11000 ]; then
    echo "Ten thousand connections need 11000 descriptors; this shell may have $(ulimit -Hn)." >&2
    echo "Raise the hard limit (ulimit -Hn, or nofile in /etc/security/limits.conf)." >&2
    exit 1
fi

echo "Building the broker for release, and the yardstick …"
config/scripts/build.sh release fanfare
make --silent -C Benchmarks/yardstick
broker="$(config/scripts/build.sh path release)/fanfare serve --log-level error"
broker+=" --port {port} --tls-port {tls_port} --tls-certificate {certificate} --tls-key {private_key}"

selection=(--set "$set")
if [ ${#only[@]} -gt 0 ]; then selection=(--only "${only[@]}"); fi
if [ ${#servers[@]} -gt 0 ]; then selection+=(--servers "${servers[@]}"); fi
if [ -n "${PINNED:-}" ]; then selection+=(--pinned); fi
python3 Benchmarks/compare.py --rounds "$rounds" "${selection[@]}" \
    --broker "fanfare=$broker --loops 1" --broker "fanfare-2=$broker --loops 2"

echo
if [ "$set" = full ] && [ ${#only[@]} = 0 ]; then
    Benchmarks/instructions.sh
    # The verdict is informative only: a busy machine misses bounds that an idle one meets.
    python3 Benchmarks/verdict.py || true
fi
if [ ${#only[@]} = 0 ] && [ ${#servers[@]} = 0 ]; then python3 Benchmarks/chart.py; fi
