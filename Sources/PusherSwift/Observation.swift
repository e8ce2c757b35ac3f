internal import FanfareClient
import Foundation

/// What happens to the client underneath, told in the words of this interface: all of it on the callbacks' queue.
extension PusherConnection {
    func observe(_ client: FanfareClient) {
        let reference = Reference(self)
        let queue = options.callbackQueue
        client.bind(on: queue) { event in reference.connection?.arrived(event) }
        client.onError(on: queue) { error in reference.connection?.failed(error) }
        // What ends a connection is told also when that is the last thing that happens to it.
        let delegation = delegation
        client.onStatusChange(on: queue) { old, new in
            reference.connection?.note(new)
            let (old, new) = (ConnectionState(old), ConnectionState(new))
            guard old != new else { return }
            delegation.tell(from: queue) { delegate in
                delegate.changedConnectionState(from: old, to: new)
            }
        }
    }

    private func note(_ status: ConnectionStatus) {
        forgetWhatTheAppHasSet()
        switch status {
        case .connecting(let attempt): reconnectAttempts = attempt - 1
        case .connected:
            reconnectAttempts = 0
            subscribeToWhatTheAppHasAdded()
        case .waiting, .disconnected, .failed: break
        }
    }

    private func arrived(_ event: ChannelEvent) {
        let channel = event.channel.flatMap { channels.find(name: $0) }
        switch event.name {
        // Told with its reason, as an error.
        case "pusher:subscription_error": return
        case "pusher:subscription_succeeded": channel?.confirmed()
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
        delegation.tell(from: options.callbackQueue) { delegate in
            delegate.subscribedToChannel(name: name)
        }
    }

    private func failed(_ error: FanfareError) {
        switch error {
        case .reported(let code, let message):
            handleError(error: PusherError(code: code, message: message))
        case .undecryptable(let event, _):
            delegation.tell(from: options.callbackQueue) { delegate in
                delegate.failedToDecryptEvent(
                    eventName: event.name,
                    channelName: event.channel ?? "",
                    data: event.data
                )
            }
        case .authorizationFailed(let channel, let failure):
            var outcome = outcomes.take(channel) ?? AuthOutcome()
            if outcome.error == nil { outcome.error = Self.nsError(error, failure.status) }
            refused(channel, outcome, explanation: outcome.data ?? "")
        case .subscriptionRefused(let channel, _, let message, let status):
            let outcome = AuthOutcome(data: message, error: Self.nsError(error, status))
            refused(channel, outcome, explanation: message)
        case .decrypterMissing(let channel):
            refused(channel, AuthOutcome(error: Self.nsError(error, nil)), explanation: "")
        default: break
        }
    }

    private func refused(_ channel: String, _ outcome: AuthOutcome, explanation: String) {
        handleEvent(
            event: PusherEvent(
                eventName: "pusher:subscription_error",
                channelName: channel,
                data: explanation
            )
        )
        delegation.tell(from: options.callbackQueue) { delegate in
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
