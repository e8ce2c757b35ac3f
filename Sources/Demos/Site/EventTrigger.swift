package import FanfareAPI

/// Sends events to all subscribers of a channel.
package protocol EventTrigger: Sendable {
    /// Sends one event.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The event's data, as JSON text.
    ///   - channel: The channel's name.
    /// - Throws: The reason why the broker did not accept the event.
    func send(_ event: String, data: String, on channel: String) async throws(EventFailure)
}

/// The error when the broker did not confirm an event.
package struct EventFailure: Error, CustomStringConvertible {
    /// Whether the event may have reached subscribers nevertheless.
    package let mayHaveArrived: Bool
    /// The reason, as a sentence.
    package let description: String

    /// Creates a failure.
    package init(mayHaveArrived: Bool, description: String) {
        self.mayHaveArrived = mayHaveArrived
        self.description = description
    }
}

extension BrokerAPI: EventTrigger {
    /// Sends one event over the broker's HTTP API.
    package func send(
        _ event: String,
        data: String,
        on channel: String
    ) async throws(EventFailure) {
        do {
            try await trigger(event, on: channel, text: data)
        } catch {
            throw EventFailure(mayHaveArrived: error.mayHaveArrived, description: "\(error)")
        }
    }
}
