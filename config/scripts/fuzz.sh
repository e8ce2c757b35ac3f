#!/usr/bin/env bash
# Runs the fuzz targets with libFuzzer and the address sanitizer.
#
#     make fuzz                         each target for a minute
#     make fuzz TIME=600                each for ten minutes
#     make fuzz FUZZ='frames json'      only these targets
#     fuzz.sh TARGET FILE…              runs these inputs once and prints the results
#
# Each target starts with its seeds (Tests/Fuzz/Seeds) and the corpus of earlier runs (var/fuzz/TARGET/corpus). Failing
# inputs are in var/fuzz/TARGET/findings; move the input of a fixed failure to the seeds, which `make test` runs.

set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

readonly seconds=${TIME:-60}
readonly work=$PWD/var/fuzz
# Swift's backtrace takes a minute and adds nothing to libFuzzer's report.
export SWIFT_BACKTRACE=enable=no
export LSAN_OPTIONS=suppressions=$PWD/config/sanitizers/leaks.txt:print_suppressions=0

# Both in one option: of two, the compiler uses the last, and SwiftPM orders them arbitrarily. Without "fuzzer" there is
# no coverage, and the only symptom is a search that finds no new edge.
readonly sanitizers=(--sanitize fuzzer -Xswiftc -sanitize=fuzzer,address)

mkdir -p "$work"

# The product of a target; those that need the whole server have their own. Each product has its own folder,
# .build/PRODUCT: in a shared one, SwiftPM rebuilds everything when the product changes.
product() {
    case "$1" in
        configuration | shards) echo fanfare-fuzz-server ;;
        *) echo fanfare-fuzz ;;
    esac
}

program() { echo ".build/$(product "$1")/release/$(product "$1")"; }

build() {
    echo "Building $1, optimised and with checks (some minutes the first time) …"
    FANFARE_FUZZ=1 swift build -c release --scratch-path ".build/$1" "${sanitizers[@]}" \
        --product "$1" >"$work/build.log" 2>&1 && return 0
    tail -n 40 "$work/build.log" >&2
    exit 1
}

# Short inputs run more often and can break every rule; tests cover long ones.
longest_input() {
    case "$1" in
        configuration) echo 600 ;;
        broker | shards) echo 400 ;;
        *) echo 1000 ;;
    esac
}

if [ $# -gt 0 ]; then
    target=$1 && shift
    build "$(product "$target")"
    exec "$(program "$target")" --target="$target" -timeout=20 "$@"
fi

targets=()
for folder in Tests/Fuzz/Seeds/*/; do targets+=("$(basename "$folder")"); done
if [ -n "${FUZZ:-}" ]; then read -ra targets <<<"$FUZZ"; fi
for target in "${targets[@]}"; do
    if [ ! -d "Tests/Fuzz/Seeds/$target" ]; then
        echo "There is no fuzz target $target: Tests/Fuzz/Seeds has a folder for each" >&2
        exit 64
    fi
done

# The last value of a libFuzzer statistic, as "stat::number_of_executed_units: 12".
statistic() { sed -n "s/^stat::$1: *//p" "$2" | tail -n 1; }
last() { grep -oE "$1: [0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0; }

for name in $(for target in "${targets[@]}"; do product "$target"; done | sort -u); do build "$name"; done

failures=0
table=$(printf '%-15s%12s%10s%10s%10s  %s\n' target executions edges corpus 'peak MiB' findings)
for target in "${targets[@]}"; do
    folder=$work/$target
    mkdir -p "$folder/corpus" "$folder/findings"
    words=()
    if [ -f "Tests/Fuzz/Words/$target.dict" ]; then words=(-dict="Tests/Fuzz/Words/$target.dict"); fi
    echo
    echo "$target, $seconds s …"
    status=0
    "$(program "$target")" --target="$target" -max_total_time="$seconds" -max_len="$(longest_input "$target")" -timeout=20 \
        -rss_limit_mb=2048 -print_final_stats=1 -use_value_profile=1 -artifact_prefix="$folder/findings/" \
        "${words[@]}" "$folder/corpus" "Tests/Fuzz/Seeds/$target" >"$folder/log" 2>&1 &
    process=$!
    trap 'kill $process 2>/dev/null || true' EXIT
    # Prints progress every 15 s.
    while kill -0 $process 2>/dev/null; do
        for _ in $(seq 15); do
            sleep 1
            kill -0 $process 2>/dev/null || break
        done
        grep -E '^#[0-9]+' "$folder/log" | tail -n 1 | sed 's/^/    /' || true
    done
    wait $process || status=$?
    trap - EXIT
    executions=$(statistic number_of_executed_units "$folder/log")
    edges=$(last cov "$folder/log")
    finding=none
    if [ $status != 0 ]; then
        failures=$((failures + 1))
        grep -E 'Fatal error|ERROR:|SUMMARY:|Test unit written' "$folder/log" | sed 's/^/    /' >&2 || true
        finding=$(grep -oE "findings/[^ ]+$" "$folder/log" | tail -n 1 || true)
        finding="var/fuzz/$target/${finding:-log} (status $status)"
    fi
    if [ "$edges" = 0 ]; then
        failures=$((failures + 1))
        finding="the program was built without coverage: the fuzzer is blind"
    fi
    table+=$'\n'$(printf '%-15s%12s%10s%10s%10s  %s' "$target" "${executions:-?}" "$edges" \
        "$(last corp "$folder/log")" "$(statistic peak_rss_mb "$folder/log")" "$finding")
done

echo
echo "$table"
echo
if [ $failures = 0 ]; then echo "Nothing found."; else echo "FAILED: see the last column."; fi
[ $failures = 0 ]
