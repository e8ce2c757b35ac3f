#!/usr/bin/env bash
# Runs the Autobahn test suite (517 cases) against Fanfare's WebSocket server and client, plain and TLS.
#
# The suite's runner is `wstest`: from the PATH, or in the suite's official container image.
# Writes a report for each case, summary.md and cases.txt to var/conformance, and prints the summary.
# cases.txt has a line for each case, in the format of docs/proof/conformance.md.
#
#     make conformance CASES='1.* 7.*'    only some cases

set -euo pipefail
cd "$(dirname "$0")/../.."

readonly image=crossbario/autobahn-testsuite
readonly reports=$PWD/var/conformance
readonly server_port=9011 server_tls_port=9012 fuzzing_port=9013 fuzzing_tls_port=9014
read -ra cases <<<"${CASES:-*}"

container=
for engine in docker podman; do
    if "$engine" info >/dev/null 2>&1; then container=$engine && break; fi
done
if command -v wstest >/dev/null; then
    runner=(wstest)
elif [ -n "$container" ]; then
    # The same paths inside and outside the container, and the host's loopback.
    runner=("$container" run --rm --init --network host --volume "$reports:$reports"
        --workdir "$reports" "$image" wstest)
else
    echo "The Autobahn test suite needs its runner. Either will do:" >&2
    echo "    a container engine that runs (docker or podman), for the image $image" >&2
    echo "    wstest on the PATH; it is a Python 2 program: pip2 install autobahntestsuite" >&2
    exit 1
fi
echo "Runner: ${runner[*]}"

echo "Building the echo server and the client under test …"
config/scripts/build.sh release websocket-echo-server websocket-conformance-client
programs=$(config/scripts/build.sh path release)

rm -rf "$reports" && mkdir -p "$reports" && cd "$reports"
openssl req -x509 -nodes -days 2 -newkey rsa:2048 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
    -keyout key.pem -out certificate.pem 2>/dev/null

processes=()
stop_all() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    for process in "${processes[@]}"; do wait "$process" 2>/dev/null || true; done
    processes=()
}
trap stop_all EXIT

# Waits for a listener on the port: the first start of a container may download its image.
await() {
    for _ in $(seq 1200); do
        if (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    echo "Nothing listens on port $1 after two minutes; see $reports/*.log" >&2
    exit 1
}

case_list=$(printf '"%s",' "${cases[@]}")
case_list="[${case_list%,}]"

echo "Our server, plain and TLS …"
"$programs/websocket-echo-server" --port $server_port >server.log 2>&1 &
processes+=($!)
"$programs/websocket-echo-server" --port $server_tls_port \
    --tls-certificate certificate.pem --tls-key key.pem >server-tls.log 2>&1 &
processes+=($!)
await $server_port
await $server_tls_port
cat >fuzzingclient.json <<SPECIFICATION
{
    "outdir": "$reports/server",
    "servers": [
        {"agent": "server", "url": "ws://127.0.0.1:$server_port"},
        {"agent": "server-tls", "url": "wss://127.0.0.1:$server_tls_port"}
    ],
    "cases": $case_list, "exclude-cases": [], "exclude-agent-cases": {}
}
SPECIFICATION
"${runner[@]}" --mode fuzzingclient --spec "$reports/fuzzingclient.json" | tee fuzzingclient.log |
    grep --line-buffered -c 'Running test case' | sed 's/$/ cases run/'
stop_all

test_client() {
    local agent=$1 url=$2 log=$1.log
    shift 2
    echo "Our $agent …"
    cat >"$agent.json" <<SPECIFICATION
{
    "url": "$url", "outdir": "$reports/$agent",
    "cases": $case_list, "exclude-cases": [], "exclude-agent-cases": {}
}
SPECIFICATION
    "${runner[@]}" --mode fuzzingserver --webport 0 --spec "$reports/$agent.json" \
        --key "$reports/key.pem" --cert "$reports/certificate.pem" >"$log" 2>&1 &
    processes+=($!)
    await "${url##*:}"
    "$programs/websocket-conformance-client" "$url" --agent "$agent" "$@"
    stop_all
}
test_client client "ws://127.0.0.1:$fuzzing_port"
test_client client-tls "wss://127.0.0.1:$fuzzing_tls_port" --trust "$reports/certificate.pem"

cd - >/dev/null
python3 config/scripts/conformance_summary.py --cases "$reports" >"$reports/cases.txt"
python3 config/scripts/conformance_summary.py "$reports" | tee "$reports/summary.md"
exit "${PIPESTATUS[0]}"
