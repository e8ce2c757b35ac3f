#!/usr/bin/env bash
# Runs the package's own tests, then the witnesses: official client libraries and a browser.
# Both parts always run; the last lines say how each ended.

set -uo pipefail
cd "$(dirname "$0")/../.."

# One debug build, in SwiftPM's usual folder, serves both parts.
echo "Building the tests and the programs …"
config/scripts/build.sh tests || exit 1
config/scripts/dependencies.sh check || exit 1

# Some run by themselves, group by group. Among a thousand others, those of short timeouts would wait for a core, not for
# the broker; and those that attack a broker, or crowd at its door, would let the others wait.
readonly timed='LivenessConformanceTests|ProbationTests|CacheChannelTests|StoppingTests|WatchlistTests|WebhookLifeTests'
readonly hostile='FanfareServerTests\.(Hostile|ControlFrame|HalfOpen|Slow|Crowd|[A-Za-z]+Limit)Tests'
# Among all their descriptors and signals, Foundation's Process, by which these start programs, has been seen to crash.
readonly programs='FanfareCommandTests\.|AppleStubsTests'
readonly simulation='SimulationTests\.'

kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT

echo "Running the Swift tests …"
swift_status=0
swift_tests() { swift test --skip-build "$@" 2>&1 | tee -a "$kept/swift" || swift_status=$?; }
swift_tests --skip "$timed|$hostile|$programs|$simulation"
for group in "$timed" "$hostile" "$programs"; do swift_tests --filter "$group"; done
# Time stands still there while nobody moves it, so what is closed has to be closed at once: not only when a process that
# is being made beside it lets go of the descriptors that it was born with.
swift_tests --no-parallel --filter "$simulation"

# Those without a browser mostly wait, and run beside the others; what they say comes behind.
echo "Running the witnesses …"
witness() { PYTHONDONTWRITEBYTECODE=1 .venv/bin/python -m pytest "$@"; }
mapfile -t in_browsers < <(grep -lE '\b(browsers|pages)\b' Tests/witnesses/test_*.py)
mapfile -t without < <(grep -LE '\b(browsers|pages)\b' Tests/witnesses/test_*.py)
witness "${without[@]}" >"$kept/others" 2>&1 &
witness_status=0
witness "${in_browsers[@]}" || witness_status=$?
wait $! || witness_status=$?
cat "$kept/others"

outcome() { if [ "$1" = 0 ]; then echo passed; else echo "FAILED (exit status $1)"; fi; }
echo
# What failed stands thousands of lines above: it is said again where the reader looks.
[ $swift_status = 0 ] || grep -E '^✘ Test .* (recorded|failed)|^error: |Fatal error' "$kept/swift"
echo "Swift tests: $(outcome $swift_status)"
echo "Witnesses:   $(outcome $witness_status)"
[ $swift_status = 0 ] && [ $witness_status = 0 ]
