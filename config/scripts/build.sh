#!/usr/bin/env bash
# Builds with one line of progress in the place of a line for each file; whatever is wrong is shown in full.
#
#   build.sh release [PRODUCT …]   for release, with the Swift runtime inside and without symbols; everything by default
#   build.sh debug [PRODUCT …]     to debug; everything by default
#   build.sh tests                 to debug, with the tests
#   build.sh path release|debug    prints the folder of the programs
#   build.sh sizes                 prints how large each program for release is
#
# VERBOSE=1 shows what the compiler says about each file. Without a terminal there is a line every 30 seconds.

set -uo pipefail
cd "$(dirname "$0")/../.."

# Names of functions take a third of the program, and only a debugger reads them: SYMBOLS=1 keeps them.
release=(-c release --static-swift-stdlib)
[ -n "${SYMBOLS:-}" ] || release+=(-Xlinker --strip-all)
readonly release
# The index of the libraries, which editors make for themselves, takes a quarter of the CPU of a debug build.
readonly debug=(-Xswiftc -index-ignore-system-modules -Xswiftc -index-ignore-clang-modules)

started=0 steps='' shown=0

# How far the build is: on a terminal over and over in one line, elsewhere now and then.
show() {
    local seconds=$((SECONDS - started))
    if [ -t 1 ]; then
        printf '\r\033[K    %s … %s (%d s)' "$label" "$steps" "$seconds"
    elif [ $((seconds - shown)) -ge 30 ]; then
        shown=$seconds
        printf '    %s … %s (%d s)\n' "$label" "$steps" "$seconds"
    fi
}

clear_line() { if [ -t 1 ]; then printf '\r\033[K'; fi; }

handle() {
    case "$1" in
        '['*/*'] '*)
            steps=${1%%]*}
            steps="${steps#[}"
            steps="step ${steps%/*} of ${steps#*/}"
            ;;
        Fetch* | Updat* | Creating\ working* | Comput* | Clon*) steps='fetching libraries' ;;
        # The last words about a library; behind those about the last one the compiler says nothing until it has planned.
        Working\ copy*) steps='planning' ;;
        Building\ for* | Build\ complete* | Build\ of\ product* | Planning* | '') ;;
        # The toolchain's own Foundation calls mktemp(3), to name a file that it then opens with O_EXCL; the linker warns of
        # it in each program that has Foundation inside.
        *'the use of `mktemp'\'' is dangerous'*) ;;
        *)
            clear_line
            printf '%s\n' "$1"
            ;;
    esac
}

# Reads the output of a build, and shows something at least each second.
follow() {
    local line rest='' status
    while true; do
        IFS= read -r -t 1 line
        status=$?
        if [ $status = 0 ]; then
            handle "$rest$line"
            rest=''
            [ ! -t 1 ] || show
        elif [ $status -gt 128 ]; then
            rest+=$line
            show
        else
            [ -z "$rest$line" ] || handle "$rest$line"
            return
        fi
    done
}

# Builds one thing; the first argument is its name for people.
build() {
    label=$1 started=$SECONDS steps='planning' shown=0
    shift
    if [ -n "${VERBOSE:-}" ]; then
        swift build "$@"
        return
    fi
    swift build "$@" 2>&1 | follow
    local status=${PIPESTATUS[0]}
    clear_line
    if [ "$status" = 0 ]; then
        printf '    %s … ok (%d s)\n' "$label" $((SECONDS - started))
    else
        printf '    %s … FAILED; the reason is above\n' "$label" >&2
    fi
    return "$status"
}

build_all() {
    local product
    if [ $# = 0 ]; then
        build everything "${flags[@]}"
        return
    fi
    for product in "$@"; do
        build "$product" "${flags[@]}" --product "$product" || return
    done
}

# A fresh clone is built of what was tested; later patches come with `swift package update`.
[ -e Package.resolved ] || config/scripts/dependencies.sh pin

kind=${1:-}
[ $# = 0 ] || shift
flags=()
case "$kind" in
    release)
        flags=("${release[@]}")
        build_all "$@"
        ;;
    debug)
        flags=("${debug[@]}")
        build_all "$@"
        ;;
    tests) build 'tests and programs' --build-tests "${debug[@]}" ;;
    path)
        if [ "${1:-}" = release ]; then flags=("${release[@]}"); fi
        swift build "${flags[@]}" --show-bin-path
        ;;
    sizes)
        cd "$(swift build "${release[@]}" --show-bin-path)" || exit 1
        find . -maxdepth 1 -type f -perm -u+x -not -name '*.so' -printf '%f %s\n' | sort |
            awk '{ printf "    %-30s %5.1f MB\n", $1, $2 / 1e6 }'
        ;;
    *) sed -n '2,/^$/ s/^# \{0,1\}//p' "$0" >&2 && exit 64 ;;
esac
