#!/usr/bin/env bash
# Keeps the packages that Fanfare is built of to the versions that it was tested with.
#
#   dependencies.sh pin      makes Package.resolved of config/dependencies.txt: the next build takes these versions
#   dependencies.sh check    fails where Package.resolved has left what was tested; a later patch is named, and accepted
#   dependencies.sh record   makes config/dependencies.txt of Package.resolved, once its versions have passed the tests
#
# Package.resolved is not committed: SwiftPM ignores it in a package that others depend on.

set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

readonly tested=config/dependencies.txt resolved=Package.resolved

# Package.resolved, as SwiftPM writes it, with a package a line: name, version, revision, address.
list_resolved() {
    awk -F '"' '
        $2 == "identity" { name = $4 }
        $2 == "location" { address = $4 }
        $2 == "revision" { revision = $4 }
        $2 == "version" && $4 != "" { print name, $4, revision, address }
    ' "$resolved"
}

list_tested() { grep -v -e '^#' -e '^$' "$tested"; }

pin() {
    local separator='' name version revision address
    {
        printf '{\n  "pins" : ['
        while read -r name version revision address; do
            printf '%s\n    {\n      "identity" : "%s",\n' "$separator" "$name"
            printf '      "kind" : "remoteSourceControl",\n      "location" : "%s",\n' "$address"
            printf '      "state" : {\n        "revision" : "%s",\n' "$revision"
            printf '        "version" : "%s"\n      }\n    }' "$version"
            separator=,
        done < <(list_tested)
        printf '\n  ],\n  "version" : 2\n}\n'
    } >"$resolved"
}

check() {
    local status=0 name version revision found found_revision
    fail() { echo "$1" >&2 && status=1; }
    if tr -d ' \n' <Package.swift | grep -oE '\.package\(url:"[^"]*",[^"]*' | grep -vq 'upToNextMinor(from:'; then
        fail "Package.swift names a package without .upToNextMinor(from:): its versions are not those that were tested."
    fi
    [ -e "$resolved" ] || { echo "$resolved is missing: build first." >&2; exit 1; }
    while read -r name version revision _; do
        read -r found found_revision < <(list_resolved | awk -v name="$name" '$1 == name { print $2, $3 }') || true
        if [ -z "${found:-}" ]; then
            fail "$name is in $tested, and nothing needs it any more."
        elif [ "$found" = "$version" ] && [ "$found_revision" != "$revision" ]; then
            fail "$name $version was tested as $revision, and is $found_revision now: its tag was moved."
        elif [ "${found%.*}" != "${version%.*}" ] || [ "${found##*.}" -lt "${version##*.}" ]; then
            fail "$name $found is built; $version was tested, and later patches of ${version%.*} are accepted."
        elif [ "$found" != "$version" ]; then
            echo "$name $found is built; $version was tested. If all passes: config/scripts/dependencies.sh record"
        fi
    done < <(list_tested)
    while read -r name version _; do
        list_tested | grep -q "^$name " || fail "$name $version is built, and is not in $tested."
    done < <(list_resolved)
    return $status
}

record() {
    {
        echo "# The packages that Fanfare was tested with, and that its image is built of: name, version, revision, address."
        echo "# Written by config/scripts/dependencies.sh record."
        list_resolved
    } >"$tested.new"
    mv "$tested.new" "$tested"
}

case "${1:-}" in
    pin | check | record) "$1" ;;
    *) echo "usage: dependencies.sh pin | check | record" >&2 && exit 64 ;;
esac
