#!/usr/bin/env bash
# Runs the package's own tests, then the witnesses: official client libraries and a browser.
# Both parts always run; the last lines say how each ended.

set -uo pipefail
cd "$(dirname "$0")/../.."

# One debug build, in SwiftPM's usual folder, serves both parts.
echo "Building the tests and the programs …"
swift build --build-tests || exit 1

# Tests of short timeouts run by themselves: among a thousand others they would wait for a core, not for the broker.
readonly timed='LivenessConformanceTests|ProbationTests|CacheChannelTests|StoppingTests'
# Those that start programs do so by themselves: among a thousand others, with all their descriptors and signals,
# Foundation's Process has been seen to crash. The simulation's need both cores for some seconds, and others would wait.
readonly programs='FanfareCommandTests\.|SimulationTests\.'

echo "Running the Swift tests …"
swift test --skip-build --skip "$timed|$programs"
swift_status=$?
swift test --skip-build --filter "$timed" || swift_status=$?
swift test --skip-build --filter "$programs" || swift_status=$?

echo "Running the witnesses …"
PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest Tests/witnesses
witness_status=$?

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
