internal import FanfareClient
import Foundation

/// Maps the events of the `Fanfare` client to this API, on the callback queue.
extension PusherConnection {
    func observe(_ client: Fanfare) {
        let reference = WeakConnection(self)
        let queue = options.callbackQueue
        let actor = callbackActor
        client.bind(Callback(on: actor) { reference.connection?.receive($0) })
        client.onError(Callback(on: actor) { reference.connection?.report($0) })
        // Captured separately, so that the last change is reported even if the connection object is deallocated.
        let notifier = notifier
        client.onStatusChange(
            Callback(on: actor) { change in
                reference.connection?.update(change.new)
                let (old, new) = (ConnectionState(change.old), ConnectionState(change.new))
                guard old != new else { return }
                notifier.notify(from: queue) { delegate in
                    delegate.changedConnectionState(from: old, to: new)
                }
            }
        )
    }

    private func update(_ status: ConnectionStatus) {
        clearOverrides()
        switch status {
        case .connecting(let attempt): reconnectAttempts = attempt - 1
        case .connected:
            reconnectAttempts = 0
            subscribeToAddedChannels()
        case .waiting, .disconnected, .suspended, .failed: break
        }
    }

    private func receive(_ event: ChannelEvent) {
        let channel = event.channel.flatMap { channels.find(name: $0) }
        switch event.name {
        // Reported as an error, with its reason.
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
        switch error.code {
        case .reported:
            handleError(error: PusherError(code: error.status, message: error.reason))
        case .undecryptable:
            guard let event = error.event else { return }
            notifier.notify(from: options.callbackQueue) { delegate in
                delegate.failedToDecryptEvent(
                    eventName: event.name,
                    channelName: event.channel ?? "",
                    data: event.data
                )
            }
        case .authorizationFailed:
            var outcome = outcomes.remove(error.channel ?? "") ?? AuthOutcome()
            if outcome.error == nil { outcome.error = Self.nsError(error) }
            reportRefusal(error, outcome, explanation: outcome.data ?? "")
        case .subscriptionRefused:
            let outcome = AuthOutcome(data: error.reason, error: Self.nsError(error))
            reportRefusal(error, outcome, explanation: error.reason)
        case .decrypterMissing:
            reportRefusal(error, AuthOutcome(error: Self.nsError(error)), explanation: "")
        default: break
        }
    }

    private func reportRefusal(
        _ error: FanfareError,
        _ outcome: AuthOutcome,
        explanation: String
    ) {
        let channel = error.channel ?? ""
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

    private static func nsError(_ error: FanfareError) -> NSError {
        NSError(
            domain: "PusherSwift",
            code: error.status ?? 0,
            userInfo: [NSLocalizedDescriptionKey: "\(error)"]
        )
    }
}
