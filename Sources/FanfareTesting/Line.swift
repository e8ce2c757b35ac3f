import FanfareClient
import PusherProtocol

/// One client's connection, as the client holds it.
final class Line: TransportConnection {
    /// Which of the broker's connections this is, counted from one.
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

/// One direction of a connection: what is on its way, in order, however late the first of it is.
struct Pipe<Item> {
    private var waiting: [(item: Item, due: Duration)] = []
    /// Whether the other end takes nothing for now.
    var isPaused = false

    /// How much is on its way.
    var count: Int { waiting.count }

    /// When the next thing arrives; `nil` when nothing is on its way, or nobody takes it.
    var nextArrival: Duration? { isPaused ? nil : waiting.first?.due }

    /// Sends something, to arrive at a time, and never ahead of what was sent before.
    mutating func put(_ item: Item, due: Duration) {
        waiting.append((item, max(due, waiting.last?.due ?? due)))
    }

    /// Takes out what has arrived by now.
    mutating func take(at now: Duration) -> [Item] {
        guard !isPaused else { return [] }
        let end = waiting.firstIndex { $0.due > now } ?? waiting.endIndex
        defer { waiting.removeFirst(end) }
        return waiting[..<end].map(\.item)
    }
}

/// Both directions of a connection, at the broker's end.
struct Wire {
    /// What a client sends.
    enum Sending {
        case text([UInt8])
        case close(code: Int)
    }

    /// Where what arrives at the client is told; `nil` once the connection has ended for it.
    var receiver: (any TransportReceiver)?
    var toBroker = Pipe<Sending>()
    var toClient = Pipe<BrokerState.Telling>()

    /// When the next thing arrives at either end.
    var nextArrival: Duration? {
        [toBroker.nextArrival, toClient.nextArrival].compactMap { $0 }.min()
    }
}

extension WireMessage {
    /// Reads what a message is about, as far as it is one.
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
                // What is no JSON has no event; it may still be dropped, delayed and so on.
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
