// Commands on sorted sets.
extension DataCommand {
    static let sortedSets: [String: DataCommand] = [
        "ZADD": .writes(3, add),
        "ZCARD": .reads(1) { data, arguments in .integer(data[sorted: arguments[0]].count) },
        "ZPOPMIN": .frees(1) { data, arguments in
            guard let first = data[sorted: arguments[0]].entries.first else { return .array([]) }
            data[sorted: arguments[0]][first.member] = nil
            return .strings([first.member, ByteString(first.score)])
        },
        "ZRANGE": .reads(3) { data, arguments in
            range(arguments, of: data[sorted: arguments[0]].entries)
        },
        "ZRANGEBYLEX": .reads(3) { data, arguments in
            .strings(limited(arguments, membersByName(data, arguments)))
        },
        "ZRANGEBYSCORE": .reads(3) { data, arguments in
            guard let entries = entriesByScore(data, arguments) else { return .notFloat }
            return .strings(limited(arguments, entries.map(\.member)))
        },
        "ZREM": .frees(2) { data, arguments in
            let key = arguments[0]
            guard !data[sorted: key].isEmpty else { return .integer(0) }
            return .integer(arguments.dropFirst().count { data[sorted: key].remove($0) })
        },
        "ZREMRANGEBYSCORE": .frees(3) { data, arguments in
            guard let entries = entriesByScore(data, arguments) else { return .notFloat }
            for entry in entries { data[sorted: arguments[0]][entry.member] = nil }
            return .integer(entries.count)
        },
        "ZREVRANGE": .reads(3) { data, arguments in
            range(arguments, of: data[sorted: arguments[0]].entries.reversed())
        },
        "ZSCORE": .reads(2) { data, arguments in
            .bulk(data[sorted: arguments[0]][arguments[1]].map { ByteString($0) })
        },
    ]

    /// `ZADD key [NX] score member …`.
    private static func add(_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue {
        let key = arguments[0]
        let isNew = arguments[1] == "NX"
        let pairs = arguments.dropFirst(isNew ? 2 : 1)
        guard !pairs.isEmpty, pairs.count.isMultiple(of: 2) else { return .syntaxError }
        var added = 0
        for index in stride(from: pairs.startIndex, to: pairs.endIndex, by: 2) {
            guard let score = pairs[index].integer else { return .notFloat }
            let former = data[sorted: key][pairs[index + 1]]
            if former == nil { added += 1 }
            if former == nil || !isNew { data[sorted: key][pairs[index + 1]] = score }
        }
        return .integer(added)
    }

    // MARK: Ranges

    /// `key first last [WITHSCORES]`, in which RESP3 has pairs.
    private static func range(
        _ arguments: [ByteString],
        of entries: [SortedSet.Entry]
    ) -> RESPValue {
        guard let first = arguments[1].integer, let last = arguments[2].integer else {
            return .notInteger
        }
        func index(_ number: Int64) -> Int {
            Int(number < 0 ? Int64(entries.count) + number : number)
        }
        let (start, end) = (max(index(first), 0), min(index(last) + 1, entries.count))
        guard start < end else { return .array([]) }
        let isScored = arguments.contains("WITHSCORES")
        return .array(
            entries[start..<end].map { entry in
                isScored
                    ? .strings([entry.member, ByteString(entry.score)]) : .bulk(entry.member)
            }
        )
    }

    /// The entries between two scores, `key min max`; nil if these are no numbers.
    private static func entriesByScore(
        _ data: Keyspace,
        _ arguments: [ByteString]
    ) -> [SortedSet.Entry]? {
        guard let min = bound(arguments[1], isExcluded: 1),
            let max = bound(arguments[2], isExcluded: -1)
        else { return nil }
        let entries = data[sorted: arguments[0]].entries
        return Array(entries.drop { $0.score < min }.prefix { $0.score <= max })
    }

    /// A bound of scores, which are integers: that of an excluded one is beside it.
    private static func bound(_ text: ByteString, isExcluded step: Int64) -> Int64? {
        switch text {
        case "-inf": .min
        case "+inf": .max
        default:
            text.hasPrefix("(") ? text.dropFirst(1).integer.map { $0 + step } : text.integer
        }
    }

    /// The members between two, `key min max`, for members with the same score.
    private static func membersByName(
        _ data: Keyspace,
        _ arguments: [ByteString]
    ) -> [ByteString] {
        func isAfter(_ member: ByteString, _ bound: ByteString) -> Bool {
            switch bound.bytes.first {
            case UInt8(ascii: "-"): true
            case UInt8(ascii: "("): bound.dropFirst(1) < member
            case UInt8(ascii: "["): bound.dropFirst(1) <= member
            default: false
            }
        }
        func isBefore(_ member: ByteString, _ bound: ByteString) -> Bool {
            switch bound.bytes.first {
            case UInt8(ascii: "+"): true
            case UInt8(ascii: "("): member < bound.dropFirst(1)
            case UInt8(ascii: "["): member <= bound.dropFirst(1)
            default: false
            }
        }
        return data[sorted: arguments[0]].entries.map(\.member)
            .filter { isAfter($0, arguments[1]) && isBefore($0, arguments[2]) }
    }

    /// What `LIMIT offset count` leaves.
    private static func limited(
        _ arguments: [ByteString],
        _ members: [ByteString]
    ) -> ArraySlice<ByteString> {
        guard let limit = arguments.firstIndex(of: "LIMIT"), limit + 2 < arguments.count else {
            return members[...]
        }
        let rest = members.dropFirst(Int(arguments[limit + 1].integer ?? 0))
        guard let count = arguments[limit + 2].integer, count >= 0 else { return rest }
        return rest.prefix(Int(count))
    }
}

extension RESPValue {
    fileprivate static let notFloat = RESPValue.error("ERR value is not a valid float")
}
