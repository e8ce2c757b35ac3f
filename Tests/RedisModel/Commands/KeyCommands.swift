// Commands on keys of any type, and on strings.
extension DataCommand {
    static let keys: [String: DataCommand] = [
        "DBSIZE": .reads(0) { data, _ in .integer(data.keys.count) },
        "DEL": .frees(1) { data, keys in .integer(keys.count { data.remove($0) }) },
        "EXISTS": .reads(1) { data, keys in
            .integer(keys.count { data.type(of: $0) != nil })
        },
        "EXPIRE": .frees(2) { data, arguments in expire(&data, arguments, unit: 1_000) },
        "FLUSHALL": .frees(0) { data, _ in
            let time = data.time
            data = Keyspace()
            data.advance(to: time)
            return .ok
        },
        "KEYS": .reads(1) { data, arguments in
            // Only all of them, or those with a prefix.
            let prefix = arguments[0].parts(2, by: "*")[0]
            return .strings(data.keys.filter { $0.hasPrefix(prefix) })
        },
        "PEXPIRE": .frees(2) { data, arguments in expire(&data, arguments, unit: 1) },
        "PTTL": .reads(1) { data, arguments in
            guard data.type(of: arguments[0]) != nil else { return .integer(-2) }
            return .integer(data.expiry(of: arguments[0]).map { $0.time - data.time } ?? -1)
        },
        "TYPE": .reads(1) { data, arguments in
            .simpleString(ByteString(data.type(of: arguments[0]) ?? "none"))
        },
    ]

    private static func expire(
        _ data: inout Keyspace,
        _ arguments: [ByteString],
        unit: Int64
    ) -> RESPValue {
        guard let lifetime = arguments[1].integer else { return .notInteger }
        guard data.type(of: arguments[0]) != nil else { return .integer(0) }
        data.expire(arguments[0], after: lifetime * unit)
        return .integer(1)
    }

    static let strings: [String: DataCommand] = [
        "GET": .reads(1) { data, arguments in .bulk(data[string: arguments[0]]) },
        "INCR": .writes(1) { data, arguments in increment(&data, arguments[0], by: 1) },
        "INCRBY": .writes(2) { data, arguments in
            guard let amount = arguments[1].integer else { return .notInteger }
            return increment(&data, arguments[0], by: amount)
        },
        "MSET": .writes(2) { data, arguments in
            guard arguments.count.isMultiple(of: 2) else { return .wrongNumber(of: "MSET") }
            for index in stride(from: 0, to: arguments.count, by: 2) {
                data[string: arguments[index]] = arguments[index + 1]
            }
            return .ok
        },
        "SET": .writes(2, set),
        "SETRANGE": .probes(3) { data, arguments in
            guard arguments[2].isEmpty else { return .error("ERR the model sets no range") }
            return .integer(data[string: arguments[0]]?.count ?? 0)
        },
    ]

    private static func increment(
        _ data: inout Keyspace,
        _ key: ByteString,
        by amount: Int64
    ) -> RESPValue {
        guard let number = (data[string: key] ?? "0").integer else { return .notInteger }
        let (sum, isTooLarge) = number.addingReportingOverflow(amount)
        guard !isTooLarge else { return .overflow }
        data.setCounter(key, to: sum)
        return .integer(sum)
    }

    /// `SET key value [EX seconds | PX milliseconds]`.
    private static func set(_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue {
        var lifetime: Int64?
        if arguments.count == 4, arguments[2] == "EX" || arguments[2] == "PX" {
            guard let number = arguments[3].integer else { return .notInteger }
            guard number > 0 else { return .error("ERR invalid expire time in 'set' command") }
            lifetime = number * (arguments[2] == "EX" ? 1_000 : 1)
        } else if arguments.count > 2 {
            return .syntaxError
        }
        data[string: arguments[0]] = arguments[1]
        if let lifetime { data.expire(arguments[0], after: lifetime) }
        return .ok
    }
}
