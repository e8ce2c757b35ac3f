import Primitives

/// The signed text of a request to the HTTP API: method, path and query, one line each.
enum StringToSign {
    /// The forms of a parameter with several values; implementations differ.
    enum ArrayForm: CaseIterable {
        /// `channels[]=b&channels[]=a`: the reference implementation, and every request without arrays.
        case repeated
        /// `channels=b,a`: the PHP library.
        case joined
        /// `channels[]=b,a`: soketi.
        case joinedWithBrackets
    }

    /// Returns the text for all parameters except the signature.
    static func text(
        method: String,
        path: Span<UInt8>,
        parameters: QueryParameters,
        arrays: ArrayForm = .repeated
    ) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(method.utf8.count + path.count + parameters.text.count + 24)
        text.append(contentsOf: method.utf8)
        text.append(UInt8(ascii: "\n"))
        text.append(path)
        text.append(UInt8(ascii: "\n"))
        switch arrays {
        case .repeated: appendRepeated(parameters, to: &text)
        case .joined: appendJoined(parameters, suffix: "", to: &text)
        case .joinedWithBrackets: appendJoined(parameters, suffix: "[]", to: &text)
        }
        return text
    }

    /// Whether a parameter is an array, so that ``ArrayForm`` makes a difference.
    static func containsArrays(_ parameters: QueryParameters) -> Bool {
        parameters.entries.contains { arrayName(of: $0, in: parameters) != nil }
    }

    private static func appendRepeated(_ parameters: QueryParameters, to text: inout [UInt8]) {
        let source = parameters.text.span
        var isFirst = true
        // Adjacent parameters are copied in one piece: libraries send them sorted.
        var run = 0..<0
        for entry in parameters.entries {
            if let pair = entry.pair, !run.isEmpty, pair.lowerBound == run.upperBound + 1 {
                run = run.lowerBound..<pair.upperBound
                continue
            }
            text.append(source.extracting(run))
            if !isFirst { text.append(UInt8(ascii: "&")) }
            isFirst = false
            run = entry.pair ?? 0..<0
            guard run.isEmpty else { continue }
            text.append(source.extracting(entry.name))
            text.append(UInt8(ascii: "="))
        }
        text.append(source.extracting(run))
    }

    /// The slow path: called only for arrays in the query, after a first mismatch.
    private static func appendJoined(
        _ parameters: QueryParameters,
        suffix: String,
        to text: inout [UInt8]
    ) {
        var names: [[UInt8]] = []
        var values: [[UInt8]: [UInt8]] = [:]
        let given = parameters.entries.sorted { $0.name.lowerBound < $1.name.lowerBound }
        for entry in given {
            let arrayName = arrayName(of: entry, in: parameters)
            let name = arrayName.map { $0 + suffix.utf8 } ?? Array(parameters.text[entry.name])
            let value = parameters.text[entry.value]
            if arrayName != nil, let earlier = values[name] {
                values[name] = earlier + [UInt8(ascii: ",")] + value
            } else {
                names.append(name)
                values[name] = Array(value)
            }
        }
        names.sort { $0.lexicographicallyPrecedes($1) }
        let pairs = names.map { $0 + [UInt8(ascii: "=")] + (values[$0] ?? []) }
        text.append(contentsOf: pairs.joined(separator: [UInt8(ascii: "&")]))
    }

    /// The name before `[]` or `[7]`, or `nil` for a plain name.
    private static func arrayName(
        of entry: QueryParameters.Entry,
        in parameters: QueryParameters
    ) -> [UInt8]? {
        let name = parameters.text[entry.name]
        guard name.last == UInt8(ascii: "]"), let bracket = name.firstIndex(of: UInt8(ascii: "["))
        else { return nil }
        return Array(name[..<bracket])
    }
}
