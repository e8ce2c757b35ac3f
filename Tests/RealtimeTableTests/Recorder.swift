import Foundation
import Synchronization

@testable import RealtimeTable

/// A trigger that keeps what it is given, or refuses as often as it is told to.
final class Recorder: EventTrigger {
    struct Event: Equatable, Sendable {
        var name: String
        var channel: String
        var data: String
    }

    private let state = Mutex((events: [Event](), refusals: 0, attempts: 0))
    private let refusal: EventFailure

    init(refusals: Int = 0, mayHaveArrived: Bool = false) {
        refusal = EventFailure(mayHaveArrived: mayHaveArrived, description: "away")
        state.withLock { $0.refusals = refusals }
    }

    var events: [Event] { state.withLock { $0.events } }
    var attempts: Int { state.withLock { $0.attempts } }

    func send(_ event: String, data: String, on channel: String) async throws(EventFailure) {
        let isTaken = state.withLock { state in
            state.attempts += 1
            guard state.refusals == 0 else {
                state.refusals -= 1
                return false
            }
            state.events.append(Event(name: event, channel: channel, data: data))
            return true
        }
        if !isTaken { throw refusal }
    }
}

/// JSON with its keys in order, so that texts can be compared.
func sorted(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(
        with: Data(json.utf8),
        options: .fragmentsAllowed
    )
    let data = try JSONSerialization.data(
        withJSONObject: value,
        options: [.sortedKeys, .fragmentsAllowed]
    )
    return String(decoding: data, as: UTF8.self)
}
