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
# Eight tests at a time: most have a time limit from their start, and more would wait for each other.
readonly eight_at_a_time=(swift test --skip-build --experimental-maximum-parallelization-width 8)
[ -z "${ONLY:-}" ] || exec "${eight_at_a_time[@]}" --filter "$ONLY"
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

swift_tests() {
    "${eight_at_a_time[@]}" --ignore-lock "${@:2}" 2>&1 | tee -a "$kept/swift" || swift_status=$?
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

# Witnesses mostly wait, so that two cores have time for three files at once, the longest first.
echo "Running the witnesses …"
readonly longest=(Tests/witnesses/test_{cluster,recovery,packages}.py)
mapfile -t others < <(printf '%s\n' Tests/witnesses/test_*.py | grep -vxF "$(printf '%s\n' "${longest[@]}")")
witness_status=0
PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder \
    "${longest[@]}" "${others[@]}" || witness_status=$?
finish witnesses
wait $simulation_id || swift_status=$?
wait $stores_id || swift_status=$?
finish simulations
cat "$kept/simulation" "$kept/stores" | tee -a "$kept/swift"

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
# Repeats the failures, which are thousands of lines above.
[ $swift_status = 0 ] || grep -E '^✘ Test .* (recorded|failed)|^error: |Fatal error' "$kept/swift"
printf '%s' "$parts"
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
