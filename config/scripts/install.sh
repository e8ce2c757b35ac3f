#!/usr/bin/env bash
# Installs missing packages.
#
#   install.sh build         the libraries that the broker, the demos and the simulation link
#   install.sh conformance   those, and the requirements of the conformance run except its suite
#   install.sh sanitize      the libraries, and a Redis server
#   install.sh test          the requirements of the conformance run, a Redis server, a browser, a web server, a load
#                            balancer, official client libraries, the languages of the guides, React and TypeScript
#   install.sh package       those of build, and what makes packages
#   install.sh packages      those, and what installs them in a root of its own
#   install.sh docs          those of build, and what builds the site of the guides
#   install.sh microbench    those of build, and tools that count instructions
#   install.sh bench         those, measuring tools, and the servers to compare with
#
# Debian packages are installed with apt-get, as root or with sudo; Python packages into .venv.

set -euo pipefail
cd "$(dirname "$0")/../.."

# Lua is linked by the simulation alone, libsodium by the tests of encryption.
readonly build_packages=(pkg-config libssl-dev zlib1g-dev libsqlite3-dev libsodium-dev libyaml-dev liblua5.1-0-dev)
readonly conformance_packages=(openssl python3)
# With the program of redis-server; that package only adds a link to it, and a system service, which no test needs.
readonly redis_packages=(redis-tools)
readonly package_packages=(binutils dpkg-dev python3)
readonly test_packages=("${package_packages[@]}" python3-venv chromium chromium-driver nginx haproxy nodejs node-ws
    node-react-dom node-typescript ruby php-cli)
readonly microbench_packages=(binutils valgrind)
readonly bench_packages=(gcc libc6-dev make openssl strace procps python3-venv
    nginx libnginx-mod-nchan mosquitto)
readonly docs_packages=(python3-venv)
readonly test_requirements=Tests/witnesses/requirements.txt
readonly docs_requirements=config/site/requirements.txt
readonly bench_requirements=Benchmarks/requirements.txt

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Prints the failure, its cause (the end of the log) and the remedy, then exits.
give_up() {
    echo "FAILED"
    echo "    $1, because:" >&2
    grep -v '^[[:space:]]*$' "$log" | tail -n 8 | sed 's/^/        /' >&2
    echo "    $2" >&2
    exit 1
}

has_package() {
    [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo --non-interactive "$@"; fi
}

apt() {
    # An unattended upgrade may hold the lock for a while.
    as_root env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 "$@" >"$log" 2>&1
}

install_packages() {
    local missing=() package number=0
    for package in "$@"; do has_package "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0

    if [ "$(id -u)" != 0 ] && ! sudo --non-interactive true 2>/dev/null; then
        if ! command -v sudo >/dev/null; then
            echo "These Debian packages are missing: ${missing[*]}." >&2
            echo "As root, run:  apt-get install ${missing[*]}" >&2
            exit 1
        fi
        echo "sudo is needed to install: ${missing[*]}"
        sudo --validate
    fi

    echo "Installing Debian packages (${#missing[@]} missing):"
    printf '    package lists … '
    if apt update; then echo "ok"; else
        # One unreachable source must not block packages of other sources.
        echo "incomplete: $(grep -E '^[EW]:' "$log" | head -n 1)"
    fi
    for package in "${missing[@]}"; do
        number=$((number + 1)) SECONDS=0
        printf '    %d/%d %s … ' "$number" "${#missing[@]}" "$package"
        apt install --no-install-recommends "$package" || give_up \
            "apt-get could not install $package" \
            "Check the network and /etc/apt, or install it yourself, then run make again."
        echo "ok (${SECONDS} s)"
    done
}

# Installs a requirements file into .venv. After its last package, a copy of the file in .venv marks it as
# installed.
install_python_packages() {
    local requirements=$1
    local completed=.venv/completed-${requirements//\//-}
    cmp --silent "$requirements" "$completed" && return 0
    # Debian's Python, for which python3-venv is installed, even if another one is first on the PATH.
    local python=/usr/bin/python3 wanted
    [ -x "$python" ] || python=python3

    echo "Installing Python packages into .venv:"
    if [ ! -e .venv/complete ]; then
        printf '    virtual environment … '
        "$python" -m venv --clear .venv >"$log" 2>&1 || give_up \
            "$python could not make a virtual environment" \
            "Install python3-venv, then run make again."
        touch .venv/complete
        echo "ok"
    fi
    while read -r wanted; do
        SECONDS=0
        printf '    %s … ' "$wanted"
        .venv/bin/pip --disable-pip-version-check install --quiet "$wanted" >"$log" 2>&1 || give_up \
            "pip could not install $wanted" \
            "Check that https://pypi.org can be reached, then run make again."
        echo "ok (${SECONDS} s)"
    done < <(grep -E '^[A-Za-z]' "$requirements")
    cp "$requirements" "$completed"
}

if ! command -v swift >/dev/null; then
    echo "Swift 6.2 or later is missing: see https://www.swift.org/install/linux/" >&2
    exit 1
fi

case "${1:-}" in
    build) packages=("${build_packages[@]}") ;;
    conformance) packages=("${build_packages[@]}" "${conformance_packages[@]}") ;;
    sanitize) packages=("${build_packages[@]}" "${redis_packages[@]}") ;;
    test)
        packages=("${build_packages[@]}" "${conformance_packages[@]}" "${redis_packages[@]}"
            "${test_packages[@]}")
        ;;
    package) packages=("${build_packages[@]}" "${package_packages[@]}") ;;
    packages) packages=("${build_packages[@]}" "${package_packages[@]}" python3-venv debootstrap) ;;
    docs) packages=("${build_packages[@]}" "${docs_packages[@]}") ;;
    microbench) packages=("${build_packages[@]}" "${microbench_packages[@]}") ;;
    bench) packages=("${build_packages[@]}" "${microbench_packages[@]}" "${bench_packages[@]}") ;;
    *) echo "usage: install.sh build | conformance | sanitize | test | package | packages | docs | microbench | bench" >&2 && exit 64 ;;
esac

if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then
    install_packages "${packages[@]}"
else
    echo "This is not Debian. What Debian calls these packages must be there: ${packages[*]}"
fi
case "$1" in
    test | packages) install_python_packages "$test_requirements" ;;
    docs) install_python_packages "$docs_requirements" ;;
    bench) install_python_packages "$bench_requirements" ;;
esac
