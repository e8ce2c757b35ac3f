#!/usr/bin/env bash
# Builds the documentation of the public modules in docs/, one archive each.
# DocC comes with the Swift toolchain; a dead link or a wrong symbol name is an error.

set -euo pipefail
cd "$(dirname "$0")/../.."

readonly modules=(FanfareClient FanfareEncryption PusherSwift FanfareAPI FanfareStorage FanfareUI FanfareTesting
    LiveRows LiveCollections LiveQueries LiveTables)

docc=$(command -v docc || true)
if [ -z "$docc" ]; then
    docc="$(dirname "$(readlink -f "$(command -v swift)")")/docc"
    [ -x "$docc" ] || { echo "docc is missing: it is part of the Swift toolchain." >&2; exit 1; }
fi

echo "Reading the symbols …"
swift package dump-symbol-graph --minimum-access-level public >/dev/null
graphs=$(find "$(swift build --show-bin-path)/.." -maxdepth 2 -type d -name symbolgraph | head -n 1)

mkdir -p docs
for module in "${modules[@]}"; do
    # DocC reads a folder of symbol graphs: only this module's and those of modules that it extends.
    folder=$(mktemp -d)
    cp "$graphs/$module".symbols.json "$graphs/$module"@*.symbols.json "$folder" 2>/dev/null || true
    catalog=Sources/$module/$module.docc
    if [ ! -d "$catalog" ]; then catalog=; fi
    "$docc" convert ${catalog:+"$catalog"} \
        --fallback-display-name "$module" \
        --fallback-bundle-identifier "fanfare.$module" \
        --additional-symbol-graph-dir "$folder" \
        --transform-for-static-hosting --hosting-base-path "$module" \
        --warnings-as-errors \
        --output-path "docs/$module"
    rm -rf "$folder"
    echo "docs/$module"
done
echo "To read them:  python3 -m http.server --directory docs"
for module in "${modules[@]}"; do
    echo "    http://localhost:8000/$module/documentation/${module,,}/"
done
