internal import CYAML

/// A value of a YAML document, with its first line.
struct YAMLNode {
    /// The kind of a value.
    enum Value {
        case scalar(String, isQuoted: Bool)
        case sequence([YAMLNode])
        case mapping([(key: YAMLNode, value: YAMLNode)])
    }

    /// The line, counted from 1.
    let line: Int
    let value: Value

    /// The text of a scalar.
    var text: String? {
        if case .scalar(let text, _) = value { text } else { nil }
    }
}

/// An error in a YAML document; lines and columns are counted from 1.
enum YAMLFault: Error, Equatable {
    /// A syntax error; `column` is counted in characters.
    case syntax(String, line: Int, column: Int)
    /// The text has a byte that YAML does not allow.
    case unreadable(String, offset: Int)
    /// A mapping has repeated keys; `line` is that of the first of them.
    case repeatedKeys([String], line: Int)
    /// A mapping has more than one key that is a list or a mapping.
    case repeatedKeysWithoutText
}

/// Parses a YAML document with libyaml.
///
/// Scalars stay texts: their kinds belong to the schema. An alias becomes a copy of its value, which shares its memory.
struct YAMLDocument {
    /// The maximum depth of nested values: each takes some of the thread's stack.
    static let depthMax = 64

    /// On the heap: libyaml keeps the address.
    private let parser: UnsafeMutablePointer<yaml_parser_t>
    private var anchors: [String: YAMLNode] = [:]
    /// The number of values that are being parsed.
    private var depth = 0

    /// Parses the only document of a text.
    ///
    /// - Parameter text: The text.
    /// - Returns: The root value; `nil` for an empty text.
    /// - Throws: The first error.
    static func read(_ text: String) throws(YAMLFault) -> YAMLNode? {
        // libyaml reads from this memory while it parses.
        let bytes = Array(text.utf8)
        var result: Result<YAMLNode?, YAMLFault> = .success(nil)
        bytes.withUnsafeBufferPointer { bytes in
            let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
            parser.initialize(to: yaml_parser_t())
            defer { parser.deallocate() }
            var document = YAMLDocument(parser: parser)
            // It fails only for lack of memory.
            precondition(yaml_parser_initialize(parser) == 1, "memory has run out")
            defer { yaml_parser_delete(parser) }
            yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
            yaml_parser_set_input_string(parser, bytes.baseAddress, bytes.count)
            do throws(YAMLFault) {
                result = .success(try document.readAll())
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    private mutating func readAll() throws(YAMLFault) -> YAMLNode? {
        _ = try next()  // The stream begins.
        guard try next().kind != YAML_STREAM_END_EVENT else { return nil }
        let root = try node(try next())
        _ = try next()  // The document ends.
        let end = try next()
        guard end.kind == YAML_STREAM_END_EVENT else {
            throw .syntax("a second document begins", line: end.line, column: end.column)
        }
        return root
    }

    // MARK: Events

    /// An event of the parser, copied.
    private struct Event {
        let kind: yaml_event_type_t
        let line: Int
        let column: Int
        /// The anchor of the value, or the anchor that an alias refers to.
        var anchor: String?
        var text = ""
        var isQuoted = false
    }

    private mutating func next() throws(YAMLFault) -> Event {
        var raw = yaml_event_t()
        guard yaml_parser_parse(parser, &raw) == 1 else { throw fault() }
        defer { yaml_event_delete(&raw) }
        var event = Event(
            kind: raw.type,
            line: raw.start_mark.line + 1,
            column: raw.start_mark.column + 1
        )
        switch raw.type {
        case YAML_ALIAS_EVENT: event.anchor = Self.text(raw.data.alias.anchor)
        case YAML_SEQUENCE_START_EVENT: event.anchor = Self.text(raw.data.sequence_start.anchor)
        case YAML_MAPPING_START_EVENT: event.anchor = Self.text(raw.data.mapping_start.anchor)
        case YAML_SCALAR_EVENT:
            let scalar = raw.data.scalar
            event.anchor = Self.text(scalar.anchor)
            // It may contain zero bytes.
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            event.text = String(decoding: bytes, as: UTF8.self)
            event.isQuoted =
                scalar.style != YAML_PLAIN_SCALAR_STYLE && scalar.style != YAML_ANY_SCALAR_STYLE
        default: break
        }
        return event
    }

    private static func text(_ bytes: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        bytes.map { String(cString: $0) }
    }

    private func fault() -> YAMLFault {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "memory has run out"
        guard parser.pointee.error != YAML_READER_ERROR else {
            return .unreadable(problem, offset: parser.pointee.problem_offset)
        }
        let context = parser.pointee.context.map { String(cString: $0) }
        let what = [context, problem].compactMap(\.self).joined(separator: ", ")
        let mark = parser.pointee.problem_mark
        return .syntax(what, line: mark.line + 1, column: mark.column + 1)
    }

    // MARK: Values

    /// Parses the value that begins with an event.
    private mutating func node(_ event: Event) throws(YAMLFault) -> YAMLNode {
        depth += 1
        defer { depth -= 1 }
        guard depth <= Self.depthMax else {
            let problem = "more than \(Self.depthMax) values lie in each other"
            throw .syntax(problem, line: event.line, column: event.column)
        }
        let value: YAMLNode.Value
        switch event.kind {
        case YAML_ALIAS_EVENT:
            guard let node = event.anchor.flatMap({ anchors[$0] }) else {
                throw .syntax("found undefined alias", line: event.line, column: event.column)
            }
            return node
        case YAML_SEQUENCE_START_EVENT: value = .sequence(try sequence())
        case YAML_MAPPING_START_EVENT: value = .mapping(try mapping())
        default: value = .scalar(event.text, isQuoted: event.isQuoted)
        }
        let node = YAMLNode(line: event.line, value: value)
        if let anchor = event.anchor { anchors[anchor] = node }
        return node
    }

    private mutating func sequence() throws(YAMLFault) -> [YAMLNode] {
        var items: [YAMLNode] = []
        while case let event = try next(), event.kind != YAML_SEQUENCE_END_EVENT {
            items.append(try node(event))
        }
        return items
    }

    private mutating func mapping() throws(YAMLFault) -> [(key: YAMLNode, value: YAMLNode)] {
        var pairs: [(key: YAMLNode, value: YAMLNode)] = []
        while case let event = try next(), event.kind != YAML_MAPPING_END_EVENT {
            let key = try node(event)
            pairs.append((key, try node(try next())))
        }
        try Self.check(pairs.map(\.key))
        return pairs
    }

    private static func check(_ keys: [YAMLNode]) throws(YAMLFault) {
        var lines: [String: Int] = [:]
        var repeated: [String] = []
        for key in keys {
            guard let name = key.text else { continue }
            if lines[name] == nil {
                lines[name] = key.line
            } else if !repeated.contains(name) {
                repeated.append(name)
            }
        }
        if keys.count(where: { $0.text == nil }) > 1 { throw .repeatedKeysWithoutText }
        guard let first = repeated.first else { return }
        throw .repeatedKeys(repeated, line: lines[first] ?? 1)
    }
}
