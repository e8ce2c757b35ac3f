#!/usr/bin/env bash
# Builds the broker for release and runs an endurance test: a mixed load, or readers beside stalled readers.
#
#     make soak                     half an hour of mixed load, then a check for leaks
#     make soak MINUTES=2           the same for two minutes
#     make stalled                  1,000 readers, five minutes beside 1,000 stalled ones and five alone
#     make stalled MINUTES=1
#
# PROGRAM=path uses an existing build. The broker's log and the JSON report are in var/soak.

set -euo pipefail
cd "$(dirname "$0")/../.."

readonly run=${1:-soak}
case "$run" in
    soak) minutes=${MINUTES:-30} ;;
    stalled) minutes=${MINUTES:-5} ;;
    *) echo "usage: soak.sh soak | stalled" >&2 && exit 64 ;;
esac
readonly seconds=$(awk -v minutes="$minutes" 'BEGIN { print minutes * 60 }')
readonly folder=$PWD/var/soak

if [ "$(ulimit -Hn)" -lt 8192 ]; then
    echo "The connections need 8192 descriptors; this shell may have $(ulimit -Hn)." >&2
    echo "Raise the hard limit (ulimit -Hn, or nofile in /etc/security/limits.conf)." >&2
    exit 1
fi

if [ -n "${PROGRAM:-}" ]; then
    program=$(realpath "$PROGRAM")
else
    echo "Building for release (some minutes the first time) …"
    config/scripts/build.sh release fanfare
    program=$(config/scripts/build.sh path release)/fanfare
fi
mkdir -p "$folder"
rm -f "$folder"/*

broker='' sink=''
stop() {
    trap '' INT TERM EXIT
    if [ -n "$broker" ]; then kill -TERM "$broker" 2>/dev/null && wait "$broker" || true; fi
    # The sink prints its last line and exits when its input ends.
    if [ -n "$sink" ]; then exec 3>&- && wait "$sink" && sed -n '2p' "$folder/sink.log" || true; fi
    exit "$1"
}
trap 'stop 130' INT TERM
trap 'stop $?' EXIT

# Waits for a matching line in the output file of a process, and prints it.
await() {
    until grep --max-count=1 "$2" "$3" 2>/dev/null; do
        kill -0 "$1" 2>/dev/null || { cat "$folder"/*.log >&2; exit 1; }
        sleep 0.1
    done
}

# Queues are smaller than by default, so that slow readers reach the limit often.
if [ "$run" = soak ]; then bound='256 KiB'; else bound='4 MiB'; fi
# MiB for all queues, and for the broker's growth; a frame queued for several connections counts once.
readonly budget=64
cat >"$folder/fanfare.yaml" <<CONFIGURATION
listen: {port: 0}
tls:
  port: 0
  certificates: [{certificate: $folder/certificate.pem, key: $folder/key.pem}]
limits:
  queued_bytes_max: $bound
  queued_bytes_total_max: $budget MiB
apps:
  - id: "1"
    key: app-key
    secret: app-secret
    features: {client_events: true}
CONFIGURATION

if [ "$run" = soak ]; then
    mkfifo "$folder/sink.input"
    python3 config/scripts/webhook_sink.py <"$folder/sink.input" >"$folder/sink.log" &
    sink=$!
    exec 3>"$folder/sink.input"
    endpoint=$(await $sink '^http' "$folder/sink.log")
    cat >>"$folder/fanfare.yaml" <<CONFIGURATION
    webhooks: [{url: $endpoint, batching: true}]
webhooks: {database: $folder/webhooks.sqlite}
CONFIGURATION
fi

"$program" keys certificate --certificate "$folder/certificate.pem" --key "$folder/key.pem" >/dev/null
"$program" serve --config "$folder/fanfare.yaml" >"$folder/ready.log" 2>"$folder/broker.log" 3>&- &
broker=$!
read -ra words <<<"$(await $broker 'ready on' "$folder/ready.log")"
for word in "${words[@]}"; do
    case "$word" in
        ws://*) url=$word ;;
        wss://*) tls_url=$word ;;
    esac
done

bench=(--url "$url" --pid "$broker" --seconds "$seconds" --json "$folder/$run.json")
if [ "$run" = soak ]; then
    # The broker keeps webhook connections open for half a minute.
    warm_up=$(awk -v seconds="$seconds" 'BEGIN { print seconds < 240 ? seconds / 4 : 60 }')
    "$program" bench soak "${bench[@]}" --warm-up "$warm_up" --settle 35 --size 2048 --backlog 1 \
        --tls-url "$tls_url" --trust "$folder/certificate.pem"
else
    # Rounds of a minute, so that queues reach their limit in each.
    rounds=$(awk -v minutes="$minutes" 'BEGIN { print minutes < 1 ? 1 : int(minutes) }')
    "$program" bench stalled "${bench[@]}" --rounds "$rounds" --backlog 5 --budget $budget
fi
