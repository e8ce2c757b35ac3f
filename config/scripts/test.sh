#!/usr/bin/env bash
# Runs the package's own tests, then the witnesses: official client libraries and a browser.
# Both parts always run; the last lines say how each ended.

set -uo pipefail
cd "$(dirname "$0")/../.."

# One debug build, in SwiftPM's usual folder, serves both parts.
echo "Building the tests and the programs …"
swift build --build-tests || exit 1

# Some run by themselves, group by group. Among a thousand others, those of short timeouts would wait for a core, not for
# the broker; and those that attack a broker, or crowd at its door, would let the others wait.
readonly timed='LivenessConformanceTests|ProbationTests|CacheChannelTests|StoppingTests'
readonly hostile='FanfareServerTests\.(Hostile|ControlFrame|HalfOpen|Slow|Crowd|[A-Za-z]+Limit)Tests'
# Among all their descriptors and signals, Foundation's Process, by which these start programs, has been seen to crash.
readonly programs='FanfareCommandTests\.|AppleStubsTests'
readonly simulation='SimulationTests\.'

echo "Running the Swift tests …"
swift_status=0
swift test --skip-build --skip "$timed|$hostile|$programs|$simulation" || swift_status=$?
for group in "$timed" "$hostile" "$programs" "$simulation"; do
    swift test --skip-build --filter "$group" || swift_status=$?
done

# Those without a browser mostly wait, and run beside the others; what they say comes behind.
echo "Running the witnesses …"
witness() { PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest "$@"; }
mapfile -t in_browsers < <(grep -lE '\b(browsers|pages)\b' Tests/witnesses/test_*.py)
mapfile -t without < <(grep -LE '\b(browsers|pages)\b' Tests/witnesses/test_*.py)
others=$(mktemp)
trap 'rm -f "$others"' EXIT
witness "${without[@]}" >"$others" 2>&1 &
witness_status=0
witness "${in_browsers[@]}" || witness_status=$?
wait $! || witness_status=$?
cat "$others"

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
