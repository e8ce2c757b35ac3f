import Digests
import Net

/// A client and a backend beside a crowd, and what the events between them wait for.
///
/// An event's time is the CPU time of the turns from the one that reads it to the one that delivers it. Redis is a model
/// whose time does not count.
final class Bystander {
    private static let period = 4

    let channel: String
    private let client: Pipe
    private let connect: () throws -> Pipe
    private var backend: Pipe
    private var unread: [UInt8] = []
    private var lastNumber = 0
    private var stepCount = 0
    /// The CPU time of all turns, in milliseconds.
    private var busy = 0.0
    /// The events that are not delivered, by their numbers: when each was sent, and the length of its first turn.
    private var pending: [Int: (start: Double, firstTurn: Double?)] = [:]
    /// The times of the delivered events, in milliseconds, and how many each stands for.
    ///
    /// One that waits for a long turn stands for one each millisecond of it.
    private(set) var times: [(milliseconds: Double, weight: Double)] = []
    /// Whether events are sent.
    var isPublishing = true

    init(on channel: String, client: Pipe, connect: @escaping () throws -> Pipe) throws {
        (self.channel, self.client, self.connect) = (channel, client, connect)
        backend = try connect()
    }

    /// Forgets the events that were sent.
    func beginMeasurement() { (times, pending) = ([], [:]) }

    /// Sends an event now and then, ahead of a turn.
    ///
    /// - Parameter request: Signs a request with a body.
    /// - Throws: The failed call.
    func send(_ request: (_ path: String, _ body: String) -> String) throws {
        stepCount += 1
        guard isPublishing, stepCount % Self.period == 0 else { return }
        if backend.hasEnded { backend = try connect() }
        lastNumber += 1
        pending[lastNumber] = (busy, nil)
        let event = #"{"name":"e","channel":"\#(channel)","data":"~\#(lastNumber)~"}"#
        backend.enqueue(Array(request("/events", event).utf8))
        _ = backend.push(.max)
    }

    /// Reads what a turn has delivered.
    func turnEnded(after milliseconds: Double) {
        busy += milliseconds
        for (number, event) in pending where event.firstTurn == nil {
            pending[number]?.firstTurn = milliseconds
        }
        while !backend.read(.max).isEmpty {}
        while case let bytes = client.read(.max), !bytes.isEmpty { unread += bytes }
        let parts = unread.split(separator: UInt8(ascii: "~"), omittingEmptySubsequences: false)
        guard parts.count > 2 else { return }
        for part in parts.dropFirst().dropLast() {
            guard let number = Int(String(decoding: part, as: UTF8.self)),
                let event = pending.removeValue(forKey: number)
            else { continue }
            times.append((busy - event.start, max(1, event.firstTurn ?? 1)))
        }
        unread = parts.count % 2 == 1 ? [] : [UInt8(ascii: "~")] + parts[parts.count - 1]
    }
}
