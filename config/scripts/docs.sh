#!/usr/bin/env bash
# Builds the documentation in site/: the guides with a search, and the reference of the public Swift modules below swift/.
#
#   docs.sh           both
#   docs.sh guides    the guides alone, in seconds
#
# A dead link, a heading that is not there or a wrong symbol name is an error. DocC comes with the Swift toolchain.

set -euo pipefail
cd "$(dirname "$0")/../.."

readonly modules=(FanfareClient FanfareEncryption PusherSwift FanfareAPI FanfareStorage FanfareUI FanfareTesting
    LiveRows LiveCollections LiveQueries LiveTables)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The guides link to other files of the repository: they have the same places in what the site is built of.
build_guides() {
    mkdir -p "$work/source" site
    cp --parents -R README.md ARCHITECTURE.md CHANGELOG.md SECURITY.md LICENSE Dockerfile Benchmarks/README.md \
        config/fanfare.yaml config/fanfare.example.yaml config/fanfare.service config/cluster config/pictures docs \
        "$work/source"
    cp config/site/mkdocs.yml "$work"
    .venv/bin/python -m mkdocs --quiet build --config-file "$work/mkdocs.yml"
    # Beside the reference of an earlier run.
    find site -mindepth 1 -maxdepth 1 ! -name swift -exec rm -rf {} +
    cp -R "$work/site/." site
    echo "site/"
}

build_reference() {
    local docc module folder catalog graphs
    docc=$(command -v docc || true)
    if [ -z "$docc" ]; then
        docc="$(dirname "$(readlink -f "$(command -v swift)")")/docc"
        [ -x "$docc" ] || { echo "docc is missing: it is part of the Swift toolchain." >&2; exit 1; }
    fi

    echo "Reading the symbols …"
    swift package dump-symbol-graph --minimum-access-level public >/dev/null
    graphs=$(find "$(swift build --show-bin-path)/.." -maxdepth 2 -type d -name symbolgraph | head -n 1)

    mkdir -p site/swift
    for module in "${modules[@]}"; do
        # DocC reads a folder of symbol graphs: only this module's and those of modules that it extends.
        folder="$work/$module"
        mkdir "$folder"
        cp "$graphs/$module".symbols.json "$graphs/$module"@*.symbols.json "$folder" 2>/dev/null || true
        catalog=Sources/$module/$module.docc
        if [ ! -d "$catalog" ]; then catalog=; fi
        "$docc" convert ${catalog:+"$catalog"} \
            --fallback-display-name "$module" \
            --fallback-bundle-identifier "fanfare.$module" \
            --additional-symbol-graph-dir "$folder" \
            --transform-for-static-hosting --hosting-base-path "swift/$module" \
            --warnings-as-errors \
            --output-path "site/swift/$module"
        echo "site/swift/$module"
    done
}

build_guides
if [ "${1:-}" != guides ]; then build_reference; fi
echo "To read it:  python3 -m http.server --directory site"
echo "    http://localhost:8000/"
