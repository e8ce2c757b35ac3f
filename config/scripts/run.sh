#!/usr/bin/env bash
# Builds for release, starts the broker and the demos, and stops both on Ctrl-C.
#
# Ports: make run PORT=6001 DEMO_PORT=4000

set -uo pipefail
cd "$(dirname "$0")/../.."

readonly port=${PORT:-6001} demo_port=${DEMO_PORT:-4000}
readonly key=app-key
# The demos' data, and the broker's messages of the last day; delete both files to start again.
readonly database=var/demos.sqlite

busy() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
for taken in "$port PORT" "$demo_port DEMO_PORT"; do
    read -r number name <<<"$taken"
    if busy "$number"; then
        echo "Port $number is in use. Stop what listens there, or choose another:" >&2
        echo "    make run $name=$((number + 1))" >&2
        exit 1
    fi
done

echo "Building for release (some minutes the first time) …"
# The demos first: GRDB takes one core for as long as half of all else takes the other.
config/scripts/build.sh release fanfare-demos demo-terminal fanfare || exit 1
programs=$(config/scripts/build.sh path release)
mkdir -p var

# The default port of `fanfare trigger` needs no --url.
url=''
if [ "$port" != 6001 ]; then url=" --url http://127.0.0.1:$port"; fi

broker='' demos=''
stop() {
    trap '' INT TERM
    # A signal from the terminal has already reached them; a second one is harmless.
    for process in $demos $broker; do kill -TERM "$process" 2>/dev/null; done
    for process in $demos $broker; do wait "$process" 2>/dev/null; done
    exit "$1"
}
trap 'echo; echo "Stopping …"; stop 0' INT TERM

# Waits until the port answers, or exits if the process ends first.
await() {
    until busy "$2"; do
        kill -0 "$1" 2>/dev/null || { echo "$3 did not start; it says why above." >&2; stop 1; }
        sleep 0.1
    done
}

"$programs/fanfare" serve --port "$port" --config config/demos.yaml &
broker=$!
await $broker "$port" "The broker"

"$programs/fanfare-demos" --port "$demo_port" --database "$database" --broker "http://127.0.0.1:$port" &
demos=$!
await $demos "$demo_port" "The demos"

# The default addresses of demo-terminal need no options.
addresses=''
if [ "$port" != 6001 ]; then addresses+=" --broker ws://127.0.0.1:$port"; fi
if [ "$demo_port" != 4000 ]; then addresses+=" --backend http://127.0.0.1:$demo_port"; fi

cat <<SUMMARY

  Broker      ws://127.0.0.1:$port   app key: $key
  Six apps    http://127.0.0.1:$demo_port/   open one in two windows
  Console     http://127.0.0.1:$port/   what the broker does
  Try         .build/release/demo-terminal table$addresses
              .build/release/fanfare trigger notice '{"text": "Hello!"}' --channel userslist$url

  Ctrl-C stops everything.

SUMMARY

wait -n $broker $demos
echo "One of the programs ended; it says why above. Stopping the other." >&2
stop 1
