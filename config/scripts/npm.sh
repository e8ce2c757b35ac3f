#!/usr/bin/env bash
# Makes the package for npm, as `npm pack` does: .build/npm/fanfare-VERSION.tgz, with the files that a broker serves to pages,
# as it serves them. Nothing is published.
#
# PROGRAM=PATH takes them from another program than that for release, such as a debug build; DIST=FOLDER puts the package
# elsewhere. The same program gives the same bytes.

set -euo pipefail
cd "$(dirname "$0")/../.."

if [ -z "${PROGRAM:-}" ]; then
    config/scripts/build.sh release fanfare
    PROGRAM=$(config/scripts/build.sh path release)/fanfare
fi
readonly program=$PROGRAM dist=${DIST:-.build/npm}

work=$(mktemp -d)
package=$work/package
trap 'kill "$broker"; rm -rf "$work"' EXIT
mkdir "$package"
umask 022

coproc broker_lines { exec "$program" serve --host 127.0.0.1 --port 0 2>"$work/log"; }
broker=$broker_lines_PID
until [[ ${line:-} =~ ready.*ws://[^\ ]*:([0-9]+) ]]; do
    read -r line <&"${broker_lines[0]}" || { cat "$work/log" >&2 && exit 1; }
done
readonly port=${BASH_REMATCH[1]}

fetch() {
    exec 3<>"/dev/tcp/127.0.0.1/$port"
    printf 'GET /%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
    read -r _ status _ <&3
    [ "$status" = 200 ] || { echo "The broker has no file $1" >&2 && return 1; }
    sed '1,/^\r$/d' <&3 >"$package/$1"
    exec 3>&-
}

# Each file is named by an export.
grep -o './fanfare[-a-z]*\.\(js\|d\.ts\)' config/npm/package.json | sort -u | while read -r file; do fetch "${file#./}"; done

version=$(sed -n 's/.*VERSION="\([^"]*\)".*/\1/p' "$package/fanfare.js")
sed "s/VERSION/$version/" config/npm/package.json >"$package/package.json"
cp config/npm/README.md LICENSE "$package"

mkdir -p "$dist"
tar --create --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 package |
    gzip --best --no-name >"$dist/fanfare-$version.tgz"

echo "$dist/fanfare-$version.tgz, with these parts:"
for file in "$package"/*.js; do
    printf '    %-22s %6d bytes, %5d compressed\n' "${file##*/}" "$(wc -c <"$file")" "$(gzip --best <"$file" | wc -c)"
done
