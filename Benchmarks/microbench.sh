#!/usr/bin/env bash
# Measures the routines on a message's path, each by itself: CPU time, and instructions.
#
#     microbench.sh [--quick]    --quick leaves out the instructions, which take a minute
#
# Instructions are valgrind's (callgrind), as the difference between few calls and many.

set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/.."

config/scripts/build.sh release fanfare-microbench
program=$(config/scripts/build.sh path release)/fanfare-microbench

printf '%-18s%12s%12s%12s\n' subject median least greatest
"$program"
if [ "${1:-}" = --quick ]; then exit; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Valgrind 3.19 gives up at the debug information of Swift 6.
strip --strip-debug -o "$work/program" "$program"

# The instructions of a subject's run of that many calls.
instructions() {
    if ! valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
        "$work/program" --only "$1" --calls "$2" >"$work/log" 2>&1; then
        cat "$work/log" >&2
        exit 1
    fi
    awk '/^(summary|totals):/ { print $2; exit }' "$work/callgrind"
}

echo
echo "Instructions in user space, per operation"
"$program" --list | while IFS=$'\t' read -r name operations operation; do
    few=$(instructions "$name" 64)
    many=$(instructions "$name" 576)
    printf '%-18s%12s  %s\n' "$name" "$(((many - few) / 512 / operations))" "$operation"
done
