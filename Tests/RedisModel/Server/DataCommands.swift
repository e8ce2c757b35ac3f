import RESP

// Commands on data that are no scripts.
extension ModelServer {
    /// Reads data; nil if the command is none that does.
    func read(_ name: String, _ arguments: [ByteString]) -> RESPValue? {
        func has(_ count: Int) -> Bool { arguments.count >= count }
        func bulk(_ strings: some Sequence<ByteString>) -> [RESPValue] { strings.map { .bulk($0) } }
        guard has(1) else { return name == "DBSIZE" ? .integer(data.keys.count) : nil }
        let key = arguments[0]
        switch name {
        case "GET": return .bulk(data[string: key])
        case "TYPE": return .simpleString(ByteString(data.type(of: key) ?? "none"))
        case "EXISTS": return .integer(arguments.count { data.type(of: $0) != nil })
        case "PTTL":
            guard data.type(of: key) != nil else { return .integer(-2) }
            return .integer(data.expiry(of: key).map { $0.time - time } ?? -1)
        case "KEYS":
            // Only all of them, or those with a prefix.
            let prefix = key.parts(2, by: "*")[0]
            return .array(bulk(data.keys.filter { $0.hasPrefix(prefix) }))
        case "HGET" where has(2): return .bulk(data[hash: key][arguments[1]])
        case "HMGET" where has(2):
            return .array(arguments.dropFirst().map { .bulk(data[hash: key][$0]) })
        case "HLEN": return .integer(data[hash: key].count)
        case "HGETALL": return .list(.map, sorted(key).flatMap { bulk([$0.key, $0.value]) })
        case "HKEYS": return .array(bulk(sorted(key).map(\.key)))
        case "HVALS": return .array(bulk(sorted(key).map(\.value)))
        case "SCARD": return .integer(data[set: key].count)
        case "SISMEMBER" where has(2): return .flag(data[set: key].contains(arguments[1]))
        case "SMEMBERS": return .list(.set, bulk(data[set: key].sorted()))
        case "ZCARD": return .integer(data[sorted: key].count)
        case "ZSCORE" where has(2):
            return .bulk(data[sorted: key][arguments[1]].map { ByteString($0) })
        case "ZRANGE" where has(3): return sortedRange(arguments)
        case "ZRANGEBYLEX" where has(3): return lexicalRange(arguments)
        case "XLEN": return .integer(data[stream: key]?.count ?? 0)
        case "XRANGE" where has(3), "XREVRANGE" where has(3):
            return streamRange(arguments, isReverse: name == "XREVRANGE")
        default: return nil
        }
    }

    /// A hash in the order of its fields; Redis promises none.
    private func sorted(_ key: ByteString) -> [(key: ByteString, value: ByteString)] {
        data[hash: key].sorted { $0.key < $1.key }
    }

    /// `ZRANGE key first last [WITHSCORES]`, in which RESP3 has pairs.
    private func sortedRange(_ arguments: [ByteString]) -> RESPValue {
        let entries = data[sorted: arguments[0]].entries
        guard let first = arguments[1].integer, let last = arguments[2].integer else {
            return .error("ERR value is not an integer or out of range")
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
                    ? .array([.bulk(entry.member), .bulk(ByteString(entry.score))])
                    : .bulk(entry.member)
            }
        )
    }

    /// `ZRANGEBYLEX key first last [LIMIT offset count]`, for members with the same score.
    private func lexicalRange(_ arguments: [ByteString]) -> RESPValue {
        func isBehind(_ member: ByteString, _ bound: ByteString) -> Bool {
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
        var members = data[sorted: arguments[0]].entries.map(\.member)[...]
        members = members.filter { isBehind($0, arguments[1]) && isBefore($0, arguments[2]) }[...]
        if let limit = arguments.firstIndex(of: "LIMIT"), limit + 2 < arguments.count {
            members = members.dropFirst(Int(arguments[limit + 1].integer ?? 0))
            if let count = arguments[limit + 2].integer, count >= 0 {
                members = members.prefix(Int(count))
            }
        }
        return .array(members.map { .bulk($0) })
    }

    /// `XRANGE key first last [COUNT count]`, and backwards `XREVRANGE key last first`.
    private func streamRange(_ arguments: [ByteString], isReverse: Bool) -> RESPValue {
        typealias ID = EntryStream.ID
        let stream = data[stream: arguments[0]] ?? EntryStream()
        let (low, high) = isReverse ? (arguments[2], arguments[1]) : (arguments[1], arguments[2])
        let last = high == "+" ? ID(.max, .max) : ID(high, serial: .max)
        let isExclusive = low.hasPrefix("(")
        let first = low == "-" ? ID(0, 0) : ID(isExclusive ? low.dropFirst(1) : low)
        guard let first, let last else {
            return .error("ERR Invalid stream ID specified as stream command argument")
        }
        var entries = Array(stream.entries(from: first, to: last))
        if isExclusive, entries.first?.id == first { entries.removeFirst() }
        if isReverse { entries.reverse() }
        if let index = arguments.firstIndex(of: "COUNT"), index + 1 < arguments.count {
            entries = Array(entries.prefix(Int(arguments[index + 1].integer ?? 0)))
        }
        return .array(
            entries.map { entry in
                .array([
                    .bulk(ByteString(entry.id.description)),
                    .array([.bulk("d"), .bulk(entry.text)]),
                ])
            }
        )
    }

    /// Changes data; an error if the command is unknown.
    mutating func write(_ name: String, _ arguments: [ByteString]) -> RESPValue {
        let known = [
            "INCR": 1, "INCRBY": 2, "SET": 2, "SETRANGE": 3, "MSET": 2, "DEL": 1, "FLUSHALL": 0,
        ]
        guard let least = known[name] else {
            return .error("ERR unknown command '\(name)'")
        }
        guard arguments.count >= least else { return Self.wrongNumber(of: name) }
        let freesMemory = name == "DEL" || name == "FLUSHALL"
        if let error = refusal(allowsOutOfMemory: freesMemory) { return error }
        let reply: RESPValue
        switch name {
        case "INCR", "INCRBY":
            let amount = name == "INCR" ? 1 : arguments[1].integer
            guard let amount, let number = data.increment(arguments[0], by: amount) else {
                return .error("ERR value is not an integer or out of range")
            }
            reply = .integer(number)
        case "SET":
            data[string: arguments[0]] = arguments[1]
            reply = .ok
        case "MSET":
            guard arguments.count.isMultiple(of: 2) else { return Self.wrongNumber(of: name) }
            for index in stride(from: 0, to: arguments.count, by: 2) {
                data[string: arguments[index]] = arguments[index + 1]
            }
            reply = .ok
        case "SETRANGE":
            // Nothing is set, so nothing is replicated.
            guard arguments[2].bytes.isEmpty else { return .error("ERR the model sets no range") }
            return .integer(Int64(data[string: arguments[0]]?.bytes.count ?? 0))
        case "DEL": reply = .integer(arguments.count { data.remove($0) })
        default:
            let time = time
            data = Keyspace()
            data.advance(to: time)
            reply = .ok
        }
        append([ByteString(name)] + arguments)
        return reply
    }
}
