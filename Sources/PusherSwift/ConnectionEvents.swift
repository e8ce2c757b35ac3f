internal import FanfareClient
import Foundation

/// Maps the events of the `FanfareClient` to this API, on the callback queue.
extension PusherConnection {
    func observe(_ client: FanfareClient) {
        let reference = WeakConnection(self)
        let queue = options.callbackQueue
        client.bind(on: queue) { event in reference.connection?.receive(event) }
        client.onError(on: queue) { error in reference.connection?.report(error) }
        // Captured by itself, so that the last change is reported even if the connection object is deallocated.
        let notifier = notifier
        client.onStatusChange(on: queue) { old, new in
            reference.connection?.update(new)
            let (old, new) = (ConnectionState(old), ConnectionState(new))
            guard old != new else { return }
            notifier.notify(from: queue) { delegate in
                delegate.changedConnectionState(from: old, to: new)
            }
        }
    }

    private func update(_ status: ConnectionStatus) {
        clearOverrides()
        switch status {
        case .connecting(let attempt): reconnectAttempts = attempt - 1
        case .connected:
            reconnectAttempts = 0
            subscribeToAddedChannels()
        case .waiting, .disconnected, .failed: break
        }
    }

    private func receive(_ event: ChannelEvent) {
        let channel = event.channel.flatMap { channels.find(name: $0) }
        switch event.name {
        // Reported with its reason, as an error.
        case "pusher:subscription_error": return
        case "pusher:subscription_succeeded": channel?.subscriptionConfirmed()
        case "pusher:subscription_count":
            if let count = client.channel(event.channel ?? "").subscriptionCount {
                channel?.countChanged(count)
            }
        default: break
        }
        handleEvent(event: PusherEvent(event))
        guard event.name == "pusher:subscription_succeeded", let name = event.channel else {
            return
        }
        notifier.notify(from: options.callbackQueue) { delegate in
            delegate.subscribedToChannel(name: name)
        }
    }

    private func report(_ error: FanfareError) {
        switch error {
        case .reported(let code, let message):
            handleError(error: PusherError(code: code, message: message))
        case .undecryptable(let event, _):
            notifier.notify(from: options.callbackQueue) { delegate in
                delegate.failedToDecryptEvent(
                    eventName: event.name,
                    channelName: event.channel ?? "",
                    data: event.data
                )
            }
        case .authorizationFailed(let channel, let failure):
            var outcome = outcomes.remove(channel) ?? AuthOutcome()
            if outcome.error == nil { outcome.error = Self.nsError(error, failure.status) }
            reportRefusal(channel, outcome, explanation: outcome.data ?? "")
        case .subscriptionRefused(let channel, _, let message, let status):
            let outcome = AuthOutcome(data: message, error: Self.nsError(error, status))
            reportRefusal(channel, outcome, explanation: message)
        case .decrypterMissing(let channel):
            reportRefusal(channel, AuthOutcome(error: Self.nsError(error, nil)), explanation: "")
        default: break
        }
    }

    private func reportRefusal(
        _ channel: String,
        _ outcome: AuthOutcome,
        explanation: String
    ) {
        handleEvent(
            event: PusherEvent(
                eventName: "pusher:subscription_error",
                channelName: channel,
                data: explanation
            )
        )
        notifier.notify(from: options.callbackQueue) { delegate in
            delegate.failedToSubscribeToChannel(
                name: channel,
                response: outcome.response,
                data: outcome.data,
                error: outcome.error
            )
        }
    }

    private static func nsError(_ error: FanfareError, _ code: Int?) -> NSError {
        NSError(
            domain: "PusherSwift",
            code: code ?? 0,
            userInfo: [NSLocalizedDescriptionKey: "\(error)"]
        )
    }
}
