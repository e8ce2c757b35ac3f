import DemoSite
package import FanfareAPI
import Synchronization

/// A trigger that records events, or refuses a given number of times.
package final class Recorder: EventTrigger {
    package struct Event: Equatable, Sendable {
        package var name: String
        package var channel: String
        package var data: String
    }

    private let state = Mutex((events: [Event](), refusals: 0, attempts: 0))
    private let refusal: FanfareAPIError

    package init(refusals: Int = 0, _ refusal: FanfareAPIError = .unreachable("away")) {
        self.refusal = refusal
        state.withLock { $0.refusals = refusals }
    }

    package var events: [Event] { state.withLock { $0.events } }
    package var attempts: Int { state.withLock { $0.attempts } }

    package func send(_ event: OutboxEvent) async throws(FanfareAPIError) {
        let isTaken = state.withLock { state in
            state.attempts += 1
            guard state.refusals == 0 else {
                state.refusals -= 1
                return false
            }
            state.events.append(Event(name: event.name, channel: event.channel, data: event.data))
            return true
        }
        if !isTaken { throw refusal }
    }
}
