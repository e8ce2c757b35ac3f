import RESP

// Commands on streams whose entries have the one field `d`.
extension DataCommand {
    static let streams: [String: DataCommand] = [
        "XADD": .writes(4, append),
        "XDEL": .frees(2) { data, arguments in
            let ids = arguments.dropFirst().map { EntryStream.ID($0) }
            guard !ids.contains(nil) else { return .invalidID }
            let key = arguments[0]
            return .integer(
                ids.count { id in id.map { data[stream: key]?.remove($0) == true } ?? false }
            )
        },
        "XINFO": .reads(2) { data, arguments in
            guard arguments[0] == "STREAM" else { return .syntaxError }
            guard let stream = data[stream: arguments[1]] else { return .noKey }
            return .list(
                .map,
                [
                    .bulk("length"), .integer(stream.count),
                    .bulk("last-generated-id"), .bulk(ByteString(stream.lastID.description)),
                ]
            )
        },
        "XLEN": .reads(1) { data, arguments in .integer(data[stream: arguments[0]]?.count ?? 0) },
        "XRANGE": .reads(3) { data, arguments in
            range(data, arguments, from: arguments[1], to: arguments[2], isReverse: false)
        },
        "XREVRANGE": .reads(3) { data, arguments in
            range(data, arguments, from: arguments[2], to: arguments[1], isReverse: true)
        },
        "XSETID": .writes(2) { data, arguments in
            guard let id = EntryStream.ID(arguments[1]) else { return .invalidID }
            guard let stream = data[stream: arguments[0]] else { return .noKey }
            if let last = stream.entries.last?.id, id < last { return .smallerID("XSETID") }
            data[stream: arguments[0]]?.setLastID(id)
            return .ok
        },
        "XTRIM": .frees(3) { data, arguments in
            guard arguments[1] == "MAXLEN" else { return .syntaxError }
            guard let countMax = arguments[2].integer, countMax >= 0 else { return .notInteger }
            return .integer(data[stream: arguments[0]]?.trim(to: Int(countMax)) ?? 0)
        },
    ]

    /// `XADD key [NOMKSTREAM] [MAXLEN count] id d text`.
    private static func append(_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue {
        let key = arguments[0]
        var rest = arguments.dropFirst()
        var countMax: Int64?
        if rest.first == "NOMKSTREAM" {
            rest.removeFirst()
            guard data[stream: key] != nil else { return .null }
        }
        if rest.first == "MAXLEN" {
            guard let count = rest.dropFirst().first?.integer else { return .notInteger }
            (countMax, rest) = (count, rest.dropFirst(2))
        }
        guard rest.count == 3, rest[rest.startIndex + 1] == "d", let id = rest.first,
            let text = rest.last
        else { return .error("ERR the model's entries have the field d alone") }
        // In place: a copy would cost too much.
        if data[stream: key] == nil { data[stream: key] = EntryStream() }
        guard data[stream: key]?.lastID != EntryStream.ID(.max, .max) else {
            return .error(
                "ERR The stream has exhausted the last possible ID, unable to add more items"
            )
        }
        let added: EntryStream.ID?
        if id == "*" {
            let time = data.time
            added = data[stream: key]?.append(at: time, text)
        } else if id.bytes.suffix(2).elementsEqual("-*".utf8) {
            guard let stream = EntryStream.ID(ByteString(Array(id.bytes.dropLast(2)))) else {
                return .invalidID
            }
            added = data[stream: key]?.append(in: stream.stream, text)
        } else {
            guard let id = EntryStream.ID(id) else { return .invalidID }
            added = data[stream: key]?.append(at: id, text)
        }
        guard let added else { return .smallerID("XADD") }
        if let countMax { _ = data[stream: key]?.trim(to: Int(countMax)) }
        return .bulk(ByteString(added.description))
    }

    /// `XRANGE key first last [COUNT count]`, and backwards `XREVRANGE key last first`.
    private static func range(
        _ data: Keyspace,
        _ arguments: [ByteString],
        from low: ByteString,
        to high: ByteString,
        isReverse: Bool
    ) -> RESPValue {
        typealias ID = EntryStream.ID
        func id(_ text: ByteString, serial: UInt64) -> ID? {
            ID(text.hasPrefix("(") ? text.dropFirst(1) : text, serial: serial)
        }
        let first = low == "-" ? ID(0, 0) : id(low, serial: 0)
        let last = high == "+" ? ID(.max, .max) : id(high, serial: .max)
        guard let first, let last else { return .invalidID }
        var entries = data[stream: arguments[0]]?.entries(from: first, to: last) ?? []
        if low.hasPrefix("("), entries.first?.id == first { entries.removeFirst() }
        if high.hasPrefix("("), entries.last?.id == last { entries.removeLast() }
        if let index = arguments.firstIndex(of: "COUNT"), index + 1 < arguments.count {
            let count = Int(arguments[index + 1].integer ?? 0)
            entries = isReverse ? entries.suffix(count) : entries.prefix(count)
        }
        let values = entries.map { entry in
            RESPValue.array([
                .bulk(ByteString(entry.id.description)), .strings(["d", entry.text]),
            ])
        }
        return .array(isReverse ? values.reversed() : values)
    }
}

extension RESPValue {
    fileprivate static let noKey = RESPValue.error("ERR no such key")
    fileprivate static let invalidID = RESPValue.error(
        "ERR Invalid stream ID specified as stream command argument"
    )

    fileprivate static func smallerID(_ command: String) -> RESPValue {
        let comparison = command == "XADD" ? "equal or smaller" : "smaller"
        return .error(
            "ERR The ID specified in \(command) is \(comparison) than the target stream top item"
        )
    }
}
