#!/usr/bin/env bash
# Runs the package's own tests, then the witnesses: official client libraries and a browser.
# Both parts always run; the last lines show their results.
#
#   test.sh                          everything
#   ONLY=PublishOrderTests test.sh   the Swift tests whose names match a regular expression

set -uo pipefail
cd "$(dirname "$0")/../.."

# Both parts use one debug build in SwiftPM's default folder.
echo "Building the tests and the programs …"
config/scripts/build.sh tests || exit 1
[ -z "${ONLY:-}" ] || exec swift test --skip-build --experimental-maximum-parallelization-width 8 --filter "$ONLY"
config/scripts/dependencies.sh check || exit 1
valkey_programs=$(config/scripts/valkey.sh) || exit 1

source config/scripts/groups.sh

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

echo "Running the Swift tests …"
swift_status=0 parts=''
# The last lines show the seconds of each part.
started=$SECONDS
finish() { parts+="    $1 $((SECONDS - started)) s"$'\n' started=$SECONDS; }

# Each is given eight tests at a time: most have a time limit from their start, and more would wait for each other.
swift_tests() {
    swift test --skip-build --ignore-lock --experimental-maximum-parallelization-width 8 "${@:2}" 2>&1 | tee -a "$kept/swift" ||
        swift_status=$?
    finish "$1"
}
readonly apart="$timed|$hostile|$programs|$benches|$servers|$simulation"
swift_tests modules --skip "$apart|$clients|$server"
swift_tests clients --filter "$clients" --skip "$apart"
swift_tests server --filter "$server" --skip "$apart"
# Simulations never wait, and what follows does little else: with a low priority they take what it leaves. In two processes,
# for a core each, which `swift test` allows with --ignore-lock.
simulate() { nice swift test --skip-build --no-parallel --ignore-lock "${@:2}" >"$kept/$1" 2>&1; }
simulate simulation --filter "$simulation" --skip "$store_simulation" &
simulation_id=$!
simulate stores --filter "$store_simulation" &
stores_id=$!

swift_tests timed --filter "$timed"
swift_tests hostile --filter "$hostile"
swift_tests programs --filter "$programs"
swift_tests benches --filter "$benches"
swift_tests redis --filter "$servers"
# The server of the Python package is built without TLS.
PATH=$valkey_programs:$PATH swift_tests valkey --filter "$valkey" --skip answersThroughTCPAndTLS

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
finish witnesses
wait $simulation_id || swift_status=$?
wait $stores_id || swift_status=$?
finish simulations
cat "$kept/failing" "$kept/others"
cat "$kept/simulation" "$kept/stores" | tee -a "$kept/swift"

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
# Repeats the failures, which are thousands of lines above.
[ $swift_status = 0 ] || grep -E '^✘ Test .* (recorded|failed)|^error: |Fatal error' "$kept/swift"
printf '%s' "$parts"
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
