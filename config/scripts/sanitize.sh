#!/usr/bin/env bash
# Runs the Swift tests under the thread sanitizer, then under the address sanitizer with leak detection.
#
#     make sanitize                       both
#     make sanitize SANITIZER=thread      one: thread or address
#     make sanitize MODULES='NetTests'      only these test modules
#     make sanitize SEEDS=300               seeds of the simulations; 20 unless given
#
# No race is suppressed; config/sanitizers/leaks.txt lists the suppressed leaks with reasons: globals, Foundation's own,
# programs that exit without freeing. Each sanitizer has its own build (.build/sanitize-…), slow the first time. Reports
# and the output of each test module are in var/sanitize/SANITIZER.

set -uo pipefail
cd "$(dirname "$0")/../.."
source config/scripts/groups.sh

read -ra sanitizers <<<"${SANITIZER:-thread address}"
mapfile -t modules < <(grep -oE '^ +(tests\()?"[A-Za-z0-9]+Tests"' Package.swift | cut -d'"' -f2 | sort -u)
if [ -n "${MODULES:-}" ]; then read -ra modules <<<"$MODULES"; fi

# A simulation is one thread, ten to thirty times slower here: fewer seeds, and every injected bug.
export SEEDS=${SEEDS:-20}
# Swift's backtrace takes a minute and adds nothing to the sanitizer's report.
export SWIFT_BACKTRACE=enable=no

# Builds the library that reports a Mutex to the thread sanitizer, and tests that it hides no race.
prepare_thread() {
    local folder=$1 clang
    clang=$(dirname "$(readlink -f "$(command -v swift)")")/clang
    "$clang" -O2 -fPIC -shared -o "$folder/swift-mutex.so" config/sanitizers/swift-mutex.c || return 1
    swiftc -O -sanitize=thread -o "$folder/mutex-proof" config/sanitizers/mutex-proof.swift 2>"$folder/proof.log" ||
        return 1
    if ! LD_PRELOAD=$folder/swift-mutex.so "$folder/mutex-proof" >"$folder/proof.log" 2>&1; then
        echo "A Mutex that is used well is reported as a race: see $folder/proof.log" >&2
        return 1
    fi
    if LD_PRELOAD=$folder/swift-mutex.so "$folder/mutex-proof" races >"$folder/proof.log" 2>&1; then
        echo "A race beside a Mutex is not reported: see $folder/proof.log" >&2
        return 1
    fi
    echo "The thread sanitizer sees a Mutex, and a race beside it."
}

count_reports() { find "$1" -name 'report.*' | wc -l; }

failed=0
summary=
for sanitizer in "${sanitizers[@]}"; do
    folder=$PWD/var/sanitize/$sanitizer
    build=.build/sanitize-$sanitizer
    rm -rf "$folder" && mkdir -p "$folder"
    case "$sanitizer" in
        thread)
            prepare_thread "$folder" || exit 1
            settings=("LD_PRELOAD=$folder/swift-mutex.so" "TSAN_OPTIONS=log_path=$folder/report:history_size=4")
            ;;
        address)
            settings=("ASAN_OPTIONS=log_path=$folder/report:detect_leaks=1"
                "LSAN_OPTIONS=suppressions=$PWD/config/sanitizers/leaks.txt:print_suppressions=0")
            ;;
        *) echo "SANITIZER is thread or address, not $sanitizer" >&2 && exit 64 ;;
    esac

    echo "Building the tests for the $sanitizer sanitizer …"
    swift build --build-tests --sanitize "$sanitizer" --scratch-path "$build" >"$folder/build.log" 2>&1 || {
        tail -n 40 "$folder/build.log" >&2
        exit 1
    }
    number=0
    for module in "${modules[@]}"; do
        number=$((number + 1)) SECONDS=0
        printf '    %d/%d %s … ' $number ${#modules[@]} "$module"
        before=$(count_reports "$folder")
        # Only full stacks identify libcurl's leaks in Foundation; they are too slow for all modules.
        options=()
        if [ "$sanitizer" = address ] && [[ $module == PusherSwift* ]]; then
            options=("${settings[0]}:fast_unwind_on_malloc=0")
        fi
        # XCTest, which no test uses, leaks memory on exit.
        swift_tests() {
            env "${settings[@]}" "${options[@]}" swift test --skip-build --disable-xctest --sanitize "$sanitizer" \
                --experimental-maximum-parallelization-width 8 --scratch-path "$build" "$@" >>"$folder/$module.log" 2>&1
        }
        status=0
        if [[ "$module." =~ $programs|$benches|$servers|$simulation ]]; then
            # Each test is ten times slower, and programs and benchmarks time out after seconds of silence.
            swift_tests --no-parallel --filter "^$module\\." || status=$?
        elif [ "$module" = FanfareServerTests ]; then
            swift_tests --filter "^$module\\." --skip "$timed|$hostile" || status=$?
            swift_tests --no-parallel --filter "^$module\\.($timed)" || status=$?
            swift_tests --filter "$hostile" || status=$?
        else
            swift_tests --filter "^$module\\." || status=$?
        fi
        reports=$(($(count_reports "$folder") - before))
        if [ $status = 0 ] && [ $reports = 0 ]; then
            echo "clean (${SECONDS} s)"
        else
            failed=$((failed + 1))
            echo "FAILED: exit status $status, reports of $reports processes (${SECONDS} s)"
            grep -hE '^✘ Test .* recorded an issue|^error:' "$folder/$module.log" | head -n 5 | sed 's/^/        /'
            summary+="    $module under the $sanitizer sanitizer: $folder"$'\n'
        fi
    done
    find "$folder" -name 'report.*' -exec grep -hE '^SUMMARY' {} + | sort | uniq -c | sort -rn | head -n 20
done

echo
if [ $failed = 0 ]; then
    echo "Clean: ${#modules[@]} modules under the ${sanitizers[*]} sanitizer."
else
    printf 'FAILED:\n%s' "$summary"
    exit 1
fi
