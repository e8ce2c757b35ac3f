import Net
import RESP
import Redis
import TestRedis

/// The owner of a connection, which records its events.
final class Owner: RedisConnectionDelegate {
    enum Event: Equatable {
        case opened
        case reply(UInt64, Value)
        case push(Value)
        case closed(RedisFault, unanswered: Range<UInt64>)
    }

    private(set) var events: [Event] = []
    private(set) var server: RedisServer?
    /// Called with the replies to these calls, which are no events then.
    var onReply: [CallID: (borrowing RESPView) -> Void] = [:]
    /// Called after each reply or push.
    var onReceived: ((RedisConnection) -> Void)?

    /// The reason of the connection's end.
    var fault: RedisFault? { if case .closed(let fault, _) = events.last { fault } else { nil } }
    /// Removes and returns the events.
    func takeEvents() -> [Event] {
        defer { events = [] }
        return events
    }

    func opened(_ connection: RedisConnection, server: RedisServer) {
        self.server = server
        events.append(.opened)
    }

    func received(_ reply: borrowing RESPView, to call: CallID, on connection: RedisConnection) {
        if let read = onReply.removeValue(forKey: call) { return read(reply) }
        events.append(.reply(call.number, Value(reply)))
        onReceived?(connection)
    }

    func received(push: borrowing RESPView, on connection: RedisConnection) {
        events.append(.push(Value(push)))
        onReceived?(connection)
    }

    func closed(_ connection: RedisConnection, _ fault: RedisFault, unanswered: Range<CallID>) {
        events.append(
            .closed(fault, unanswered: unanswered.lowerBound.number..<unanswered.upperBound.number)
        )
    }
}
