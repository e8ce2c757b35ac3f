package import FanfareAPI

/// What can send an event to every subscriber of a channel.
package protocol EventTrigger: Sendable {
    /// Sends one event.
    ///
    /// - Parameters:
    ///   - event: The event's name.
    ///   - data: The event's data, as JSON text.
    ///   - channel: The channel's name.
    /// - Throws: What kept the broker from taking the event.
    func send(_ event: String, data: String, on channel: String) async throws(EventFailure)
}

/// The broker did not take an event, or did not say that it has.
package struct EventFailure: Error, CustomStringConvertible {
    /// Whether the event may have reached subscribers all the same.
    package let mayHaveArrived: Bool
    /// What happened, as a sentence.
    package let description: String

    /// Tells of a failure.
    package init(mayHaveArrived: Bool, description: String) {
        self.mayHaveArrived = mayHaveArrived
        self.description = description
    }
}

extension FanfareAPI: EventTrigger {
    /// Sends one event by the broker's HTTP API.
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
