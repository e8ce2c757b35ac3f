package import FanfareAPI

/// Sends events to all subscribers of a channel.
package protocol EventTrigger: Sendable {
    /// Sends one event with its idempotency key; throws the reason if the broker does not accept it.
    func send(_ event: OutboxEvent) async throws(FanfareAPIError)
}

extension BrokerAPI: EventTrigger {}
