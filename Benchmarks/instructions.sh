#!/usr/bin/env bash
# Counts what a broker does in user space and how often it calls the kernel. No clock is read, so
# the figures are the same on a busy machine.
#
#     instructions.sh [--port PORT] [--out FILE] [BROKER…]
#
#   BROKER   the program, or the command, without `--port`; the release build's
#            `fanfare serve --loops 1 --log-level error` unless given. One thread serves, so that
#            what is counted does not depend on which thread got which connection.
#   --out    where the figures go as JSON; results/instructions.json unless given
#
# Instructions are valgrind's (callgrind), system calls are strace's: the difference of a short and a
# long run, so that starting and connecting do not count.

set -euo pipefail
shopt -s inherit_errexit
script=$(realpath "$0")
cd "$(dirname "$script")"

port=18149 out=results/instructions.json
while [ $# -gt 0 ]; do
    case $1 in
        --port) port=$2 && shift 2 ;;
        --out) out=$2 && shift 2 ;;
        --help)
            sed -n '2,/^$/s/^# \{0,1\}//p' "$script"
            exit ;;
        -*) echo "unknown option $1; see --help" >&2 && exit 64 ;;
        *) break ;;
    esac
done
broker=("$@")
if [ $# = 0 ]; then
    broker=(../.build/release/fanfare serve --loops 1 --log-level error)
elif [ $# = 1 ]; then
    broker=("$1" serve --loops 1 --log-level error)
fi

readonly load=.build/yardstick/wsload
make --silent -C yardstick
work=$(mktemp -d) process=
trap '[ -z "$process" ] || kill "$process" 2>/dev/null; rm -rf "$work"' EXIT

# Valgrind 3.19 gives up at the debug information of Swift 6.
strip --strip-debug -o "$work/broker" "$(command -v "${broker[0]}")"

await_port() {
    for _ in $(seq 300); do
        if (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then return; fi
        kill -0 "$process" 2>/dev/null || break
        sleep 0.1
    done
    echo "The broker did not start:" >&2
    cat "$work/log" >&2
    exit 1
}

# Starts the broker under a tool, loads it, and ends it.
under() {
    local tool=$1
    shift
    case $tool in
        callgrind)
            valgrind --tool=callgrind --callgrind-out-file="$work/callgrind" \
                "$work/broker" "${broker[@]:1}" --port "$port" >"$work/log" 2>&1 & ;;
        strace)
            strace -c -f -e trace=sendto,sendmsg,write,writev -o "$work/calls" \
                "$work/broker" "${broker[@]:1}" --port "$port" >"$work/log" 2>&1 & ;;
    esac
    process=$!
    await_port
    if ! "$load" --url "ws://127.0.0.1:$port" --max-seconds 100 --drain 60 "$@" >"$work/run"; then
        echo "The run failed:" && cat "$work/run"
        exit 1
    fi >&2
    # strace passes no signal on: the broker is its only child.
    local target=$process
    if [ "$tool" = strace ]; then target=$(pgrep -P "$process"); fi
    kill "$target"
    wait "$process" || true
    process=
}

instructions() {
    under callgrind "$@"
    awk '/^(summary|totals):/ { print $2; exit }' "$work/callgrind"
}

# Calls that send: a `write` or `writev` to a socket counts, as a `sendto` does.
sends() {
    under strace "$@"
    awk '$NF ~ /^(sendto|sendmsg|write|writev)$/ { sum += $4 } END { print sum + 0 }' "$work/calls"
}

# (second - first) / units
quotient() {
    awk -v first="$1" -v second="$2" -v units="$3" -v decimals="$4" \
        'BEGIN { printf "%.*f", decimals, (second - first) / units }'
}

# What a unit of work adds to a counter: the counter, decimals, how many units the two runs differ by,
# the option that makes the difference with its two values, and the arguments of both.
difference() {
    local counter=$1 decimals=$2 units=$3 option=$4 few=$5 many=$6
    shift 6
    local first second
    first=$("$counter" "$option" "$few" "$@")
    second=$("$counter" "$option" "$many" "$@")
    quotient "$first" "$second" "$units" "$decimals"
}

declare -A result
measure() {
    local key=$1 title=$2
    shift 2
    printf '%-62s' "$title" >&2
    result[$key]=$(difference "$@")
    printf '%10s\n' "${result[$key]}" >&2
}

# 400 messages more, to 200 subscribers, are 80,000 deliveries.
audience=(--n 200 --warmup 10)
lonely=(--n 1 --warmup 10)
channels=(--n 100 --channels 8 --subscriptions 8 --warmup 8)

echo "Instructions in user space, of ${broker[*]}" >&2
measure instructions_one '  per delivery, one at a time' \
    instructions 0 80000 --messages 100 500 "${audience[@]}" --window 1
# A publish costs the same for any audience: what 200 subscribers more add is the deliveries' own.
few=$((result[instructions_one] * 200))
many=$(difference instructions 0 400 --messages 100 500 --n 400 --warmup 10 --window 1)
result[instructions_own]=$(quotient "$few" "$many" 200 0)
result[instructions_share]=$((result[instructions_one] - result[instructions_own]))
printf '%-62s%10s\n' '    of which the delivery itself' "${result[instructions_own]}" \
    '    and its share of the publish, one 200th' "${result[instructions_share]}" >&2
measure instructions_window '  per delivery, 8 outstanding' \
    instructions 0 80000 --messages 100 500 "${audience[@]}" --window 8
measure instructions_publish '  per publish to a single subscriber, signature checked' \
    instructions 0 1000 --messages 500 1500 "${lonely[@]}" --window 8
tracked=$(difference instructions 0 1000 --messages 500 1500 "${lonely[@]}" --window 8 --recovery position)
result[instructions_position]=$((tracked - result[instructions_publish]))
printf '%-62s%10s\n' '    and for its serial and for keeping it' "${result[instructions_position]}" >&2
measure instructions_cycle '  per connection: upgrade, subscribe, close' \
    instructions 0 1000 --messages 500 1500 --scenario churn --concurrency 16

echo "Calls that send" >&2
measure sendto_one '  per delivery, one at a time; answers to publishes count too' \
    sends 3 80000 --messages 100 500 "${audience[@]}" --window 1
measure sendto_window '  per delivery, 8 outstanding' \
    sends 3 80000 --messages 100 500 "${audience[@]}" --window 8
measure sendto_channels '  per delivery, 100 subscribers of 8 busy channels' \
    sends 3 40000 --messages 100 500 "${channels[@]}" --window 8

mkdir -p "$(dirname "$out")"
{
    separator='{'
    for key in "${!result[@]}"; do
        printf '%s"%s": %s' "$separator" "$key" "${result[$key]}"
        separator=', '
    done
    echo '}'
} >"$out"
echo "Written to $out" >&2
