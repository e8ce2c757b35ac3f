#!/usr/bin/env bash
# Runs the proofs that take too long for `make test`, one after the other, and prints a table of their results.
#
#     make prove                                       everything; some hours on two cores
#     make prove PARTS='recovery cluster'              some of them
#     make prove SEEDS=100 KILLS=20 MINUTES=1 DELIVERIES=100000 CUTS=100 FAULTS=14   less of each
#
# A part that fails does not stop the others. The output of each is in .build/prove/PART.log.

set -uo pipefail
cd "$(dirname "$0")/../.."

readonly logs=.build/prove
mkdir -p "$logs"

export DELIVERIES=${DELIVERIES:-10000000} CUTS=${CUTS:-10000} FAULTS=${FAULTS:-1000}
seeds=${SEEDS:-10000} kills=${KILLS:-1000}

echo 'Building for release (some minutes the first time) …'
config/scripts/build.sh release fanfare fanfare-simulate recovery-subscribers || exit 1
PROGRAMS=$(config/scripts/build.sh path release)
export PROGRAMS

simulate() { "$PROGRAMS/fanfare-simulate" --seeds "$seeds" "$@"; }
archive_kills() {
    FANFARE_BUILD=$PROGRAMS KILLS=$kills PYTHONDONTWRITEBYTECODE=1 \
        .venv/bin/python -m pytest -s Tests/witnesses/test_archive.py
}

platforms() {
    config/scripts/build.sh tests && PROVE_PLATFORMS=1 swift test --skip-build --filter AppleStubsTests
}

run_part() {
    case $1 in
        broker) simulate ;;
        files) simulate --archive ;;
        sessions) simulate --sessions ;;
        leases) simulate --leases ;;
        nodes) simulate --cluster ;;
        kills) archive_kills ;;
        recovery) config/scripts/recovery.sh ;;
        cluster) DELIVERIES=$((DELIVERIES / 10)) config/scripts/cluster.sh ;;
        platforms) platforms ;;
        hostile) MINUTES=${MINUTES:-10} config/scripts/hostile.sh ;;
        soak) PROGRAM=$PROGRAMS/fanfare MINUTES=${MINUTES:-30} config/scripts/soak.sh soak ;;
        *) echo "$1 is no part: broker files sessions leases nodes kills recovery cluster platforms hostile soak" && return 64 ;;
    esac
}

read -ra parts <<<"${PARTS:-broker files sessions leases nodes kills recovery cluster platforms hostile soak}"
table='' status=0
for part in "${parts[@]}"; do
    echo
    echo "$part …"
    start=$SECONDS outcome=held
    run_part "$part" 2>&1 | tee "$logs/$part.log"
    if [ "${PIPESTATUS[0]}" != 0 ]; then outcome=FAILED status=1; fi
    last=$(grep -vE '^\s*$' "$logs/$part.log" | tail -1 | cut -c1-100)
    table+=$(printf '%-9s %-7s %5d min  %s' "$part" "$outcome" $(((SECONDS - start + 30) / 60)) "$last")$'\n'
done

echo
printf '%-9s %-7s %9s  %s\n' part result time 'its last line'
printf '%s' "$table"
exit $status
