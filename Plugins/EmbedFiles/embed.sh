# embed.sh OUTPUT FILE …: writes a Swift type with a constant for each text file, named as the file with `_` for each
# character that no identifier has.

set -eu

output=$1
shift
{
    echo 'struct PackageResources {'
    for file; do
        name=$(basename "$file" | tr -c '[:alnum:]\n' _)
        # The newline before the closing delimiter is no part of the string.
        printf 'static let %s = [UInt8](##"""\n' "$name"
        cat "$file"
        printf '\n"""##.utf8)\n'
    done
    echo '}'
} >"$output"
