import Cluster
import FanfareServer
import Net
import RESP
import Redis
import RedisModel
import Simulation

/// A Redis server in memory, of which some replies and messages have another number or text than it has.
final class FuzzedRedis: RedisDialer {
    private final class Link {
        let pipe: Pipe
        let connection: ModelServer.Connection
        var decoder = CommandDecoder()

        init(_ pipe: Pipe, _ connection: ModelServer.Connection) {
            (self.pipe, self.connection) = (pipe, connection)
        }
    }

    /// A change of one value.
    struct Edit {
        /// The number of values before it that are not changed.
        var skipped: Int
        /// The place among the numbers and texts of the value.
        var place: Int
        /// What takes its place: a number, or a text that is no number.
        var bytes: [UInt8]
    }

    private var model: ModelServer
    private var links: [ModelServer.Connection: Link] = [:]
    private var edits: [Edit] = []
    private var randomNumber: UInt64 = 0

    init(time: Int64) {
        model = ModelServer(
            identity: .init(
                run: String(repeating: "e", count: 40),
                replication: String(repeating: "d", count: 40),
                startedAt: time
            ),
            time: time
        )
        model.editedScripts = SimulatedScripts.edited()
        let loader = model.connect()
        for script in SimulatedScripts.ofNodes {
            _ = model.execute(["SCRIPT", "LOAD", ByteString(script.source)], of: loader)
        }
    }

    func add(_ edit: Edit) { edits.append(edit) }

    /// Drops the changes that no reply has met.
    func removeEdits() { edits = [] }

    func advance(to time: Int64) { send(model.advance(to: time).outputs) }

    func dial(_ server: DialedServer, shard: Int) throws(SystemError) -> FileDescriptor {
        let (pipe, end) = try Pipe.make(bufferSize: 200_000)
        if case .sentinel = server {
            pipe.close()
        } else {
            let connection = model.connect()
            links[connection] = Link(pipe, connection)
        }
        return try FileDescriptor(end, from: "socketpair")
    }

    func random() -> UInt64 {
        randomNumber &+= 1
        return randomNumber
    }

    /// Executes what has been received, and sends what waits; returns whether there was anything.
    func serve() -> Bool {
        var isBusy = false
        for link in links.values.sorted(by: { $0.connection < $1.connection }) {
            let bytes = link.pipe.read(65_536)
            if !bytes.isEmpty { isBusy = true }
            do {
                for command in try link.decoder.receive(bytes) {
                    send(model.execute(command, of: link.connection))
                }
            } catch {
                link.pipe.close()
            }
            if link.pipe.push(.max) > 0 { isBusy = true }
            if link.pipe.hasEnded || !link.pipe.isOpen {
                link.pipe.close()
                links[link.connection] = nil
                model.disconnect(link.connection)
            }
        }
        for killed in model.takeKilled() { links[killed]?.pipe.close() }
        return isBusy
    }

    private func send(_ outputs: [ModelServer.Output]) {
        for output in outputs {
            guard let link = links[output.connection] else { continue }
            var bytes: [UInt8] = []
            edited(output.value).encode(to: &bytes)
            link.pipe.enqueue(bytes)
        }
    }

    private func edited(_ value: RESPValue) -> RESPValue {
        guard !edits.isEmpty else { return value }
        guard edits[0].skipped == 0 else {
            edits[0].skipped -= 1
            return value
        }
        let edit = edits.removeFirst()
        let count = value.placeCount
        guard count > 0 else { return value }
        var place = edit.place % count
        return value.replacing(&place, by: edit.bytes)
    }
}

extension RESPValue {
    /// The number of its numbers, those in strings included, and of its strings without one.
    fileprivate var placeCount: Int {
        switch self {
        case .integer: 1
        case .bulk(let string): max(1, Self.numbers(in: string.bytes).count)
        case .list(_, let elements): elements.reduce(0) { $0 + $1.placeCount }
        default: 0
        }
    }

    /// The ranges of decimal digits.
    private static func numbers(in bytes: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start: Int?
        for (index, byte) in (bytes + [0]).enumerated() {
            if UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
                start = start ?? index
            } else if let first = start {
                ranges.append(first..<index)
                start = nil
            }
        }
        return ranges
    }

    /// The value with other bytes at one place, from which the places before are subtracted.
    fileprivate func replacing(_ place: inout Int, by bytes: [UInt8]) -> RESPValue {
        let count = placeCount
        guard 0..<count ~= place else {
            place -= count
            return self
        }
        defer { place = -1 }
        switch self {
        case .integer:
            return Int64(String(decoding: bytes, as: UTF8.self)).map { .integer($0) }
                ?? .bulk(ByteString(bytes))
        case .bulk(let string):
            let numbers = Self.numbers(in: string.bytes)
            guard !numbers.isEmpty else { return .bulk(ByteString(bytes)) }
            var edited = string.bytes
            edited.replaceSubrange(numbers[place], with: bytes)
            return .bulk(ByteString(edited))
        case .list(let kind, let elements):
            return .list(kind, elements.map { $0.replacing(&place, by: bytes) })
        default: return self
        }
    }
}
