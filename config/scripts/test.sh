#!/usr/bin/env bash
# Runs the package's own tests, then the witnesses: official client libraries and a browser.
# Both parts always run; the last lines show their results.

set -uo pipefail
cd "$(dirname "$0")/../.."

# Both parts use one debug build in SwiftPM's default folder.
echo "Building the tests and the programs …"
config/scripts/build.sh tests || exit 1
config/scripts/dependencies.sh check || exit 1
valkey_programs=$(config/scripts/valkey.sh) || exit 1

source config/scripts/groups.sh

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

echo "Running the Swift tests …"
swift_status=0
# Each is given eight tests at a time: most have a time limit from their start, and more would wait for each other.
swift_tests() { swift test --skip-build --experimental-maximum-parallelization-width 8 "$@" 2>&1 | tee -a "$kept/swift" || swift_status=$?; }
readonly apart="$timed|$hostile|$programs|$benches|$servers|$simulation"
swift_tests --skip "$apart|$clients|$server"
for group in "$clients" "$server"; do swift_tests --filter "$group" --skip "$apart"; done
for group in "$timed" "$hostile" "$programs" "$benches" "$servers"; do swift_tests --filter "$group"; done
# The server of the Python package is built without TLS.
PATH=$valkey_programs:$PATH swift_tests --filter "$valkey" --skip answersThroughTCPAndTLS
# Two processes, for a core each: `swift test` would wait for the first to end without --ignore-lock.
swift test --skip-build --no-parallel --ignore-lock --filter "$simulation" --skip "$store_simulation" >"$kept/simulation" 2>&1 &
simulation_id=$!
swift_tests --no-parallel --ignore-lock --filter "$store_simulation"
wait $simulation_id || swift_status=$?
tee -a "$kept/swift" <"$kept/simulation"

# Witnesses mostly wait: those in a browser, those whose nodes or connections fail and the others run in parallel, and their
# output follows. The others also build programs, and have no core to spare.
echo "Running the witnesses …"
witness() { PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest "$@"; }
readonly failing=(Tests/witnesses/test_cluster.py Tests/witnesses/test_recovery.py)
which_pages() { grep "$1" -E '\b(browsers|pages)\b' Tests/witnesses/test_*.py | grep -vxF "$(printf '%s\n' "${failing[@]}")"; }
mapfile -t in_browsers < <(which_pages -l)
mapfile -t others < <(which_pages -L)
witness "${failing[@]}" >"$kept/failing" 2>&1 &
failing_id=$!
witness "${others[@]}" >"$kept/others" 2>&1 &
others_id=$!
witness_status=0
witness "${in_browsers[@]}" || witness_status=$?
wait $failing_id || witness_status=$?
wait $others_id || witness_status=$?
cat "$kept/failing" "$kept/others"

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
# Repeats the failures, which are thousands of lines above.
[ $swift_status = 0 ] || grep -E '^✘ Test .* (recorded|failed)|^error: |Fatal error' "$kept/swift"
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
