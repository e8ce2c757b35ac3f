/// A command that only reads or changes data: the model's part of what scripts and connections can call.
struct DataCommand: Sendable {
    typealias Body = @Sendable (_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue

    enum Kind {
        case reads
        /// Refused without memory, unless a script with the flag `allow-oom` calls it.
        case writes
        /// A write that needs no memory.
        case frees
        /// Refused like a write, and changes nothing, so replicas do not get it.
        case probes
    }

    let kind: Kind
    /// The least number of arguments behind the name.
    let argumentCountMin: Int
    let body: Body

    static func reads(_ argumentCountMin: Int, _ body: @escaping Body) -> DataCommand {
        DataCommand(kind: .reads, argumentCountMin: argumentCountMin, body: body)
    }

    static func writes(_ argumentCountMin: Int, _ body: @escaping Body) -> DataCommand {
        DataCommand(kind: .writes, argumentCountMin: argumentCountMin, body: body)
    }

    static func frees(_ argumentCountMin: Int, _ body: @escaping Body) -> DataCommand {
        DataCommand(kind: .frees, argumentCountMin: argumentCountMin, body: body)
    }

    static func probes(_ argumentCountMin: Int, _ body: @escaping Body) -> DataCommand {
        DataCommand(kind: .probes, argumentCountMin: argumentCountMin, body: body)
    }

    /// Whether replicas execute it too.
    var isReplicated: Bool { kind == .writes || kind == .frees }

    /// All commands by their names.
    static let all = [keys, strings, hashes, sets, sortedSets, streams].reduce(into: [:]) {
        $0.merge($1) { first, _ in first }
    }
}

extension RESPValue {
    static let notInteger = RESPValue.error("ERR value is not an integer or out of range")
    static let syntaxError = RESPValue.error("ERR syntax error")
    static let overflow = RESPValue.error("ERR increment or decrement would overflow")

    static func wrongNumber(of command: String) -> RESPValue {
        .error("ERR wrong number of arguments for '\(command.lowercased())' command")
    }

    /// An array of strings.
    static func strings(_ strings: some Sequence<ByteString>) -> RESPValue {
        .array(strings.map { .bulk($0) })
    }

    var isError: Bool { if case .error = self { true } else { false } }
}
