import RESP

// Commands on sets.
extension DataCommand {
    static let sets: [String: DataCommand] = [
        "SADD": .writes(2) { data, arguments in
            let key = arguments[0]
            return .integer(arguments.dropFirst().count { data[set: key].insert($0).inserted })
        },
        "SCARD": .reads(1) { data, arguments in .integer(data[set: arguments[0]].count) },
        "SISMEMBER": .reads(2) { data, arguments in
            .flag(data[set: arguments[0]].contains(arguments[1]))
        },
        "SMEMBERS": .reads(1) { data, arguments in
            .list(.set, data[set: arguments[0]].sorted().map { .bulk($0) })
        },
        "SPOP": .frees(2) { data, arguments in
            let taken = some(of: data, arguments)
            for case .bulk(let member) in taken.elements {
                data[set: arguments[0]].remove(member)
            }
            return taken
        },
        "SRANDMEMBER": .reads(2) { data, arguments in some(of: data, arguments) },
        "SREM": .frees(2) { data, arguments in
            let key = arguments[0]
            guard !data[set: key].isEmpty else { return .integer(0) }
            return .integer(arguments.dropFirst().count { data[set: key].remove($0) != nil })
        },
    ]

    /// So many members, the first ones; Redis picks any.
    private static func some(of data: Keyspace, _ arguments: [ByteString]) -> RESPValue {
        guard let count = arguments[1].integer, count >= 0 else {
            return .error("ERR value is out of range, must be positive")
        }
        return .strings(data[set: arguments[0]].sorted().prefix(Int(count)))
    }
}
