#!/usr/bin/env bash
# Makes packages of the program for release, in dist/.
#
#   package.sh tarball   fanfare-VERSION-linux-MACHINE.tar.gz, which is unpacked in /usr/local
#   package.sh deb       fanfare_VERSION_ARCHITECTURE.deb, for the Debian or Ubuntu that this is and later ones
#
# PROGRAM=PATH packages another program, such as a debug build in a test: quickly, and without its libraries of Swift among
# what the package depends on, since no package has them.
# DIST=FOLDER puts the packages elsewhere. The same program and commit give the same bytes.

set -euo pipefail
shopt -s inherit_errexit
cd "$(dirname "$0")/../.."

[ "${1:-}" = tarball ] || [ "${1:-}" = deb ] || { sed -n '2,/^$/ s/^# \{0,1\}//p' "$0" >&2 && exit 64; }

if [ -n "${PROGRAM:-}" ]; then
    shlibdeps=(--ignore-missing-info) compression=(-Zgzip -z1)
else
    config/scripts/build.sh release fanfare
    PROGRAM=$(config/scripts/build.sh path release)/fanfare
    shlibdeps=() compression=(-Zxz)
fi
readonly program=$PROGRAM
version=$("$program" --version)
readonly version dist=${DIST:-dist}

# Dates in the packages are those of the commit.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH
date=$(date --utc --date "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
readonly date

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# The licences of the Swift packages that are linked into the program: all but the demos' GRDB.
third_party_licences() {
    local name tag address folder file
    while read -r name tag _ address; do
        [ "$name" != grdb.swift ] || continue
        folder=.build/checkouts/$(basename "$address" .git)
        printf '\n%s %s, %s\n\n' "$name" "$tag" "$address"
        for file in "$folder"/LICENSE* "$folder"/NOTICE*; do
            [ ! -e "$file" ] || cat "$file"
        done
    done < <(grep -v -e '^#' -e '^$' config/dependencies.txt)
    printf '\nThe Swift runtime and Foundation, https://www.swift.org/\n\n'
    printf 'Apache License 2.0 with the Runtime Library Exception: https://www.swift.org/LICENSE.txt\n'
}

# Lays out what all packages have below a prefix.
#   stage PREFIX UNITS ZSH: where the program runs, and the folders in it of systemd's units and of completions for zsh
stage() {
    local root=$work/root$1 prefix=$1
    local share=$root/share
    mkdir -p "$root/bin" "$root/$2" "$share/man/man1" "$share/doc/fanfare" "$share/fanfare" \
        "$share/bash-completion/completions" "$share/fish/vendor_completions.d" "$root/$3"
    strip --strip-all -o "$root/bin/fanfare" "$program"
    chmod 755 "$root/bin/fanfare"

    # Without the comment on how to install it by hand.
    sed -e '1,/^$/d' -e "s|/usr/local/bin/|$prefix/bin/|" config/fanfare.service >"$root/$2/fanfare.service"
    install -m 644 config/debian/fanfare.yaml "$share/fanfare/fanfare.yaml"
    sed -i "s|/usr/share/|$prefix/share/|" "$share/fanfare/fanfare.yaml"
    install -m 644 config/fanfare.yaml config/fanfare.example.yaml CHANGELOG.md "$share/doc/fanfare/"
    third_party_licences >"$share/doc/fanfare/LICENSES-OF-LIBRARIES"

    "$program" --experimental-dump-help | config/scripts/manual.py "$share/man/man1" "$version" "$date"
    gzip --best --no-name "$share/man/man1"/*.1
    "$program" --generate-completion-script bash >"$share/bash-completion/completions/fanfare"
    "$program" --generate-completion-script zsh >"$root/$3/_fanfare"
    "$program" --generate-completion-script fish >"$share/fish/vendor_completions.d/fanfare.fish"
}

say_size() { echo "$1: $(du --apparent-size --block-size=kB "$1" | cut -f 1)"; }

tarball() {
    local name
    name=fanfare-$version-linux-$(uname -m)
    stage /usr/local lib/systemd/system share/zsh/site-functions
    local documents=$work/root/usr/local/share/doc/fanfare
    install -m 644 LICENSE "$documents/LICENSE"
    mkdir -p "$dist"
    tar --create --directory "$work/root/usr/local" --transform "s|^\.|$name|" --sort=name \
        --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" . |
        gzip --best --no-name >"$dist/$name.tar.gz"
    say_size "$dist/$name.tar.gz"
}

# What Debian calls the libraries that the program is linked with.
dependencies() {
    mkdir "$work/debian"
    printf 'Source: fanfare\n\nPackage: fanfare\nArchitecture: any\n' >"$work/debian/control"
    (cd "$work" && dpkg-shlibdeps "${shlibdeps[@]}" -O root/usr/bin/fanfare 2>"$work/warnings") |
        sed 's/^shlibs:Depends=//' || { cat "$work/warnings" >&2 && return 1; }
}

deb() {
    # A version before 1.0.0, as 1.0.0-beta, is an older one to dpkg only with a tilde.
    local deb_version=${version//-/\~} architecture
    architecture=$(dpkg --print-architecture)
    stage /usr lib/systemd/system share/zsh/vendor-completions
    local documents=$work/root/usr/share/doc/fanfare
    gzip --best --no-name "$documents/CHANGELOG.md" "$documents/LICENSES-OF-LIBRARIES"
    install -m 644 config/debian/copyright "$documents/copyright"
    printf 'fanfare (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.gz.\n\n -- %s  %s\n' "$deb_version" \
        "$(sed -n 's/^Maintainer: //p' config/debian/control)" "$(date --utc --rfc-email --date "@$SOURCE_DATE_EPOCH")" |
        gzip --best --no-name >"$documents/changelog.gz"

    local depends size
    depends=$(dependencies)
    size=$(du --apparent-size --summarize --block-size=1K "$work/root" | cut -f 1)
    mkdir "$work/root/DEBIAN"
    sed -e "s/@VERSION@/$deb_version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" \
        -e "s/@DEPENDS@/$depends/" config/debian/control >"$work/root/DEBIAN/control"
    install -m 755 config/debian/postinst config/debian/prerm config/debian/postrm "$work/root/DEBIAN/"
    (cd "$work/root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    mkdir -p "$dist"
    local file=$dist/fanfare_${deb_version}_$architecture.deb
    dpkg-deb --root-owner-group "${compression[@]}" --build "$work/root" "$file" >/dev/null
    say_size "$file"
}

"$1"
