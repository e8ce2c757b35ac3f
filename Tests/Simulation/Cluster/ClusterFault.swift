import RESP
import Redis
import RedisModel

/// The state of an injected bug in what Redis sends.
struct ClusterFault {
    let variant: ClusterVariant
    /// The first server that each shard of a node has asked, or any.
    private var firstIdentities: [String: ModelServer.Identity] = [:]
    /// The event that was last published at each pub/sub channel of a connection, before it is attached.
    private var early: [ObjectIdentifier: [ByteString: ByteString]] = [:]

    init(_ variant: ClusterVariant) { self.variant = variant }

    /// What is replied to a command in place of what the server would reply; `nil` for that.
    mutating func reply(
        to command: [ByteString],
        by server: inout ModelServer,
        of link: RedisLink
    ) -> RESPValue? {
        switch (variant, command.first) {
        case (.epochIgnored, "INFO"), (.epochKept, "INFO"):
            let asking = variant == .epochKept ? "\(link.node)/\(link.shard)" : ""
            var other = server
            other.identity = firstIdentities[asking] ?? server.identity
            firstIdentities[asking] = other.identity
            other.identity.isPrimary = server.identity.isPrimary
            return other.execute(command, of: link.connection).first?.value
        // Reads what was missed, up to the newest.
        case (.catchUpOffByOne, "XRANGE") where command[3] == "+":
            let known = ByteString(Array(command[2].bytes.dropFirst()))
            let range = ["XRANGE", command[1], known, known]
            let before = server.execute(range, of: link.connection).first?.value.elements.first
            var missed = server.execute(command, of: link.connection).first?.value.elements ?? []
            guard let before, let first = missed.first else { return nil }
            missed[0] = .array([first.elements[0], before.elements[1]])
            return .array(missed)
        case (.demotedPublish, "MSET") where !server.identity.isPrimary: return .ok
        case (.tailTrusted, "WAIT"): return command[1].integer.map { .integer($0) }
        default: return nil
        }
    }

    /// Notes what is sent to a connection.
    mutating func note(_ value: RESPValue, to link: RedisLink) {
        let parts = value.elements.compactMap(\.string)
        guard variant == .deliveredEarly, parts.first == "message",
            ClusterWorld.eventID(in: parts[2].description) != nil
        else { return }
        early[ObjectIdentifier(link), default: [:]][parts[1]] = parts[2]
    }

    /// What is sent behind the reply to a command: early messages, without the numbers by which nodes know them.
    mutating func pushes(behind command: [ByteString], to link: RedisLink) -> [RESPValue] {
        guard command.count > 1, command[1].description == Self.attach else { return [] }
        return command.compactMap { topic in
            early[ObjectIdentifier(link)]?.removeValue(forKey: topic).map { text in
                let entry = ByteString(Array(text.bytes.drop { $0 != UInt8(ascii: " ") }))
                return .list(.push, [.bulk("message"), .bulk(topic), .bulk("0" + entry)])
            }
        }
    }

    private static let attach = SimulatedScripts.ofNodes.first { $0.name == "attach" }?.digest
}
