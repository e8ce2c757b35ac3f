import Foundation

/// An event to be sent to the broker.
package struct OutgoingEvent: Equatable, Sendable {
    /// The event's name.
    package let event: String
    /// The channel's name.
    package let channel: String
    /// The event's data, as JSON text.
    package let data: String
    /// Whether a repeated event is harmless, such as one with a revision.
    package let isRepeatable: Bool

    /// Creates an event.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - channel: The channel's name.
    ///   - data: The event's data, as JSON text.
    ///   - isRepeatable: Whether a repeated event is harmless.
    package init(_ event: String, on channel: String, data: String, isRepeatable: Bool = false) {
        self.event = event
        self.channel = channel
        self.data = data
        self.isRepeatable = isRepeatable
    }
}

/// A queue of events, which are sent to the broker one at a time, in order.
///
/// A change is stored before its event is posted. When the broker stays unavailable, the event is dropped: pages notice
/// the lost connection and reload everything after they reconnect.
package final class Outbox: Sendable {
    /// The maximum number of queued events; beyond it the oldest is dropped.
    static let lengthMax = 1_000

    private let events: AsyncStream<OutgoingEvent>.Continuation
    private let delivery: Task<Void, Never>
    private let report: @Sendable (String) -> Void

    /// Creates an outbox and starts delivery.
    ///
    /// - Parameters:
    ///   - trigger: Sends events to the broker.
    ///   - retryDelays: The delays before the retries, one for each retry.
    ///   - report: Called with a message for each dropped event.
    package init(
        trigger: any EventTrigger,
        retryDelays: [Duration] = [.milliseconds(200), .milliseconds(600), .seconds(2)],
        report: @escaping @Sendable (String) -> Void
    ) {
        let (stream, continuation) = AsyncStream.makeStream(
            of: OutgoingEvent.self,
            bufferingPolicy: .bufferingNewest(Self.lengthMax)
        )
        events = continuation
        self.report = report
        delivery = Task {
            for await outgoing in stream {
                await Self.deliver(outgoing, by: trigger, retryDelays: retryDelays, report: report)
            }
        }
    }

    deinit { events.finish() }

    /// Enqueues an event.
    package func post(_ outgoing: OutgoingEvent) {
        if case .dropped(let oldest) = events.yield(outgoing) {
            report(
                "\(oldest.event) was dropped: \(Self.lengthMax) events are queued for the broker"
            )
        }
    }

    /// Delivers the queued events and stops accepting new ones.
    package func close() async {
        events.finish()
        await delivery.value
    }

    private static func deliver(
        _ outgoing: OutgoingEvent,
        by trigger: any EventTrigger,
        retryDelays: [Duration],
        report: @Sendable (String) -> Void
    ) async {
        let (event, data, channel) = (
            outgoing.event, outgoing.data, outgoing.channel
        )
        // There is no delay after the last attempt.
        for delay in retryDelays.map(Optional.some) + [nil] {
            do throws(EventFailure) {
                return try await trigger.send(event, data: data, on: channel)
            } catch {
                // A repeated event would be wrong for clients that apply events by index.
                let mayRepeat = outgoing.isRepeatable || !error.mayHaveArrived
                guard let delay, mayRepeat else {
                    return report("\(event) did not reach the broker: \(error)")
                }
                try? await Task.sleep(for: delay)
            }
        }
    }
}
