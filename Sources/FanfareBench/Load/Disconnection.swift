import CommandSupport

/// How a connection ended that the benchmark did not close.
struct Disconnection: Equatable {
    /// Whether the client was subscribed; otherwise the connection was refused.
    var wasSubscribed: Bool
    /// The server's code, from a close frame or a `pusher:error`; nil without a code.
    var code: Int?
}

/// The number of connections that ended, by how they ended.
struct DisconnectionCounts: Equatable {
    /// Subscribed connections that the server closed, by code.
    private(set) var closed: [Int: Int] = [:]
    /// Subscribed connections that ended without a code: reset, or the code was behind unread data.
    private(set) var ended = 0
    /// Refused connections, by the server's code; -1 stands for none.
    private(set) var refused: [Int: Int] = [:]

    mutating func count(_ disconnection: Disconnection) {
        switch (disconnection.wasSubscribed, disconnection.code) {
        case (true, let code?): closed[code, default: 0] += 1
        case (true, nil): ended += 1
        case (false, let code): refused[code ?? -1, default: 0] += 1
        }
    }

    var total: Int { ended + closed.values.reduce(0, +) + refused.values.reduce(0, +) }

    /// The table text: `12 with 4100, 3 without a code, 2 refused (4100)`.
    var description: String {
        let parts =
            closed.sorted { $0.key < $1.key }.map { "\(grouped($0.value)) with \($0.key)" }
            + (ended > 0 ? ["\(grouped(ended)) without a code"] : [])
            + refused.sorted { $0.key < $1.key }.map {
                "\(grouped($0.value)) refused (\($0.key < 0 ? "no code" : "\($0.key)"))"
            }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    /// The JSON members: `prefix_closed_4100`, `prefix_ended`, `prefix_refused_4100`.
    func members(_ prefix: String) -> [BenchReport.Member] {
        closed.sorted { $0.key < $1.key }.map { ("\(prefix)_closed_\($0.key)", .integer($0.value)) }
            + [("\(prefix)_ended", .integer(ended))]
            + refused.sorted { $0.key < $1.key }.map { code, count in
                let name = code < 0 ? "without_code" : "\(code)"
                return ("\(prefix)_refused_\(name)", .integer(count))
            }
    }

    /// The codes that are not in the protocol, in one line; nil if there are none.
    var fault: String? {
        let unknown = (Array(closed.keys) + Array(refused.keys.filter { $0 >= 0 }))
            .filter { !(4000..<4300).contains($0) && $0 != 1000 && $0 != 1001 }
        guard !unknown.isEmpty else { return nil }
        let codes = Set(unknown).sorted().map(String.init).joined(separator: ", ")
        return "connections were closed with \(codes)"
    }
}
