import CommandSupport

/// How a connection ended that nobody had asked to leave.
struct Disconnection: Equatable {
    /// Whether it was subscribed; one that was not has not been let in.
    var wasSubscribed: Bool
    /// The code that the server gave, in a close frame or a `pusher:error`; nil for a connection that just ended.
    var code: Int?
}

/// How many connections parted in which way.
struct DisconnectionCounts: Equatable {
    /// How many subscribed ones the server closed, by its code.
    private(set) var closed: [Int: Int] = [:]
    /// How many subscribed ones ended without a code: reset, or the code was lost with what was not read.
    private(set) var ended = 0
    /// How many were not let in, by the server's code; -1 stands for none.
    private(set) var refused: [Int: Int] = [:]

    /// Counts one more.
    mutating func count(_ disconnection: Disconnection) {
        switch (disconnection.wasSubscribed, disconnection.code) {
        case (true, let code?): closed[code, default: 0] += 1
        case (true, nil): ended += 1
        case (false, let code): refused[code ?? -1, default: 0] += 1
        }
    }

    /// How many there were.
    var total: Int { ended + closed.values.reduce(0, +) + refused.values.reduce(0, +) }

    /// How many the server closed for reading too slowly.
    var overCapacity: Int { closed[4100] ?? 0 }

    /// For people: `12 with 4100, 3 without a code, 2 not let in (4100)`.
    var description: String {
        let parts =
            closed.sorted { $0.key < $1.key }.map { "\(grouped($0.value)) with \($0.key)" }
            + (ended > 0 ? ["\(grouped(ended)) without a code"] : [])
            + refused.sorted { $0.key < $1.key }.map {
                "\(grouped($0.value)) not let in (\($0.key < 0 ? "no code" : "\($0.key)"))"
            }
        return parts.isEmpty ? "none" : parts.joined(separator: ", ")
    }

    /// For programs: `prefix_closed_4100`, `prefix_ended`, `prefix_refused_4100`.
    func members(_ prefix: String) -> [BenchReport.Member] {
        closed.sorted { $0.key < $1.key }.map { ("\(prefix)_closed_\($0.key)", .integer($0.value)) }
            + [("\(prefix)_ended", .integer(ended))]
            + refused.sorted { $0.key < $1.key }.map {
                (
                    "\(prefix)_refused_\($0.key < 0 ? "without_code" : "\($0.key)")",
                    .integer($0.value)
                )
            }
    }

    /// Closings with codes that the protocol has no place for; nil if there are none.
    var fault: String? {
        let strange = (Array(closed.keys) + Array(refused.keys.filter { $0 >= 0 }))
            .filter { !(4000..<4300).contains($0) && $0 != 1000 && $0 != 1001 }
        guard !strange.isEmpty else { return nil }
        let codes = Set(strange).sorted().map(String.init).joined(separator: ", ")
        return "connections were closed with \(codes)"
    }
}
