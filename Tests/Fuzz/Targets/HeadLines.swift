/// A naive parser of a head's lines: a name, a colon, a value.
struct HeadLines {
    let startLine: String
    let fields: [(name: String, value: String)]

    init(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)
            .map { $0.last == 0x0D ? $0.dropLast() : $0 }
        startLine = String(decoding: lines.first ?? [], as: UTF8.self)
        fields = lines.dropFirst()
            .compactMap { line in
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
                var value = line[(colon + 1)...]
                while let first = value.first, first == 0x20 || first == 0x09 {
                    value.removeFirst()
                }
                while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
                return (
                    name: String(decoding: line[..<colon], as: UTF8.self),
                    value: String(decoding: value, as: UTF8.self)
                )
            }
    }

    /// The values of a field, by its name in lower case; ASCII only.
    func values(_ name: String) -> [String] {
        fields.filter { field in
            let bytes = field.name.utf8.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }
            return bytes.elementsEqual(name.utf8)
        }
        .map(\.value)
    }
}
