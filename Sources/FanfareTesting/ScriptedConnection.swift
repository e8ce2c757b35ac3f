import Primitives
import FanfareClient
import PusherProtocol

/// The client's end of a connection.
final class ScriptedConnection: TransportConnection {
    /// The number of the connection, from one.
    let number: Int
    private let broker: ScriptedBroker

    init(_ number: Int, of broker: ScriptedBroker) {
        self.number = number
        self.broker = broker
    }

    func send(_ text: [UInt8]) { broker.clientSent(text, over: number) }
    func close(code: UInt16, reason: String) { broker.clientClosed(number, code: code) }
    func pauseReading() { broker.clientReads(number, false) }
    func resumeReading() { broker.clientReads(number, true) }
}

/// One direction of a connection: a first-in, first-out queue with delays.
struct Pipe<Item> {
    private var waiting: [(item: Item, due: Duration)] = []
    /// Whether the receiver has paused.
    var isPaused = false

    /// The number of items in transit.
    var count: Int { waiting.count }

    /// The time of the next arrival; `nil` if nothing is in transit or the receiver has paused.
    var nextArrival: Duration? { isPaused ? nil : waiting.first?.due }

    /// Adds an item that arrives at a time, but not before earlier items.
    mutating func put(_ item: Item, due: Duration) {
        waiting.append((item, max(due, waiting.last?.due ?? due)))
    }

    /// Removes and returns the items that have arrived.
    mutating func take(at now: Duration) -> [Item] {
        guard !isPaused else { return [] }
        let end = waiting.firstIndex { $0.due > now } ?? waiting.endIndex
        defer { waiting.removeFirst(end) }
        return waiting[..<end].map(\.item)
    }
}

/// Both directions of a connection, at the broker's end.
struct Wire {
    /// A message of a client.
    enum ClientOutput {
        case text([UInt8])
        case close(code: Int)
    }

    /// The client's receiver; `nil` once the connection has ended for the client.
    var receiver: (any TransportReceiver)?
    var toBroker = Pipe<ClientOutput>()
    var toClient = Pipe<BrokerState.Output>()

    /// The time of the next arrival at either end.
    var nextArrival: Duration? {
        [toBroker.nextArrival, toClient.nextArrival].compactMap { $0 }.min()
    }
}

extension WireMessage {
    /// Parses the event and the channel of a message, if it has them.
    init(_ direction: Direction, over connection: Int, _ bytes: [UInt8]) {
        var (event, channel) = ("", String?.none)
        let text = bytes.span
        func members(of text: Span<UInt8>, _ take: (JSONValue, JSONValue) -> Void) {
            do throws(JSONError) {
                var scanner = JSONScanner()
                try scanner.beginObject(in: text)
                while let name = try scanner.nextName(in: text) {
                    take(name, try scanner.value(in: text))
                }
            } catch {
                // A message without valid JSON has no event, but faults still apply to it.
            }
        }
        var data: [UInt8] = []
        members(of: text) { name, value in
            if name.equals("event", in: text) { event = value.string(in: text) }
            if name.equals("channel", in: text) { channel = value.string(in: text) }
            if name.equals("data", in: text) { data = value.decoded(in: text) }
        }
        if channel == nil, event.hasPrefix("pusher:") {
            members(of: data.span) { name, value in
                if name.equals("channel", in: data.span) { channel = value.string(in: data.span) }
            }
        }
        self.init(
            direction: direction,
            socketID: BrokerState.socketID(connection).description,
            event: event,
            channel: channel,
            text: String(decoding: bytes, as: UTF8.self)
        )
    }
}
