import RESP

// Commands on hashes.
extension DataCommand {
    static let hashes: [String: DataCommand] = [
        "HDEL": .frees(2) { data, arguments in
            let (key, fields) = (arguments[0], arguments.dropFirst())
            guard !data[hash: key].isEmpty else { return .integer(0) }
            return .integer(fields.count { data[hash: key].removeValue(forKey: $0) != nil })
        },
        "HEXISTS": .reads(2) { data, arguments in
            .flag(data[hash: arguments[0]][arguments[1]] != nil)
        },
        "HGET": .reads(2) { data, arguments in .bulk(data[hash: arguments[0]][arguments[1]]) },
        "HGETALL": .reads(1) { data, arguments in
            let fields = sorted(data[hash: arguments[0]])
            return .list(.map, fields.flatMap { [.bulk($0.key), .bulk($0.value)] })
        },
        "HINCRBY": .writes(3, increment),
        "HKEYS": .reads(1) { data, arguments in
            .strings(sorted(data[hash: arguments[0]]).map(\.key))
        },
        "HLEN": .reads(1) { data, arguments in .integer(data[hash: arguments[0]].count) },
        "HMGET": .reads(2) { data, arguments in
            let hash = data[hash: arguments[0]]
            return .array(arguments.dropFirst().map { .bulk(hash[$0]) })
        },
        "HSET": .writes(3, set),
        "HVALS": .reads(1) { data, arguments in
            .strings(sorted(data[hash: arguments[0]]).map(\.value))
        },
    ]

    /// A hash in the order of its fields; Redis promises none.
    private static func sorted(
        _ hash: [ByteString: ByteString]
    ) -> [(key: ByteString, value: ByteString)] {
        hash.sorted { $0.key < $1.key }
    }

    private static func increment(_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue {
        let (key, field) = (arguments[0], arguments[1])
        guard let amount = arguments[2].integer else { return .notInteger }
        guard let number = (data[hash: key][field] ?? "0").integer else {
            return .error("ERR hash value is not an integer")
        }
        let (sum, isTooLarge) = number.addingReportingOverflow(amount)
        guard !isTooLarge else { return .overflow }
        data[hash: key][field] = ByteString(sum)
        return .integer(sum)
    }

    private static func set(_ data: inout Keyspace, _ arguments: [ByteString]) -> RESPValue {
        guard !arguments.count.isMultiple(of: 2) else { return .wrongNumber(of: "HSET") }
        let key = arguments[0]
        let count = data[hash: key].count
        for index in stride(from: 1, to: arguments.count, by: 2) {
            data[hash: key][arguments[index]] = arguments[index + 1]
        }
        return .integer(data[hash: key].count - count)
    }
}
