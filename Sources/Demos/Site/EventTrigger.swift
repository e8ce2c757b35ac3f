package import FanfareAPI

/// Sends events to all subscribers of a channel.
package protocol EventTrigger: Sendable {
    /// Sends one event under its key.
    ///
    /// - Parameter event: The event.
    /// - Throws: The reason why the broker did not accept the event.
    func send(_ event: OutboxEvent) async throws(FanfareAPIError)
}

extension BrokerAPI: EventTrigger {}
