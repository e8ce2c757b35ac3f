import FanfareClient
import FanfareTesting
import Foundation
import PusherSwift

extension ScriptedBroker {
    /// The options of an app for this broker, with its transport and clock.
    func options(
        _ authMethod: AuthMethod = .noMethod,
        autoReconnect: Bool = true
    ) -> PusherClientOptions {
        let options = PusherClientOptions(
            authMethod: authMethod,
            autoReconnect: autoReconnect,
            host: .host("scripted-broker.test"),
            useTLS: false
        )
        let own = clientOptions()
        options.configure = { client in
            client.network.transport = own.network.transport
            client.clock = own.clock
        }
        return options
    }

    /// Returns a broker that only accepts the app's signatures.
    static func strict() -> ScriptedBroker {
        var settings = Settings()
        settings.authorization = .signed
        return ScriptedBroker(settings)
    }
}

/// The calls of a delegate, in order.
@MainActor final class DelegateNotes: PusherDelegate {
    private(set) var states: [String] = []
    private(set) var subscribed: [String] = []
    private(set) var failures: [Failure] = []
    private(set) var undecrypted: [String] = []
    private(set) var errors: [String] = []
    private(set) var log: [String] = []

    struct Failure: Equatable {
        var channel: String
        var status: Int?
        var data: String?
        var hasError: Bool
    }

    func debugLog(message: String) { log.append(message) }
    func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
        states.append("\(old.stringValue()) \(new.stringValue())")
    }
    func subscribedToChannel(name: String) { subscribed.append(name) }
    func failedToSubscribeToChannel(
        name: String,
        response: URLResponse?,
        data: String?,
        error: NSError?
    ) {
        failures.append(
            Failure(
                channel: name,
                status: (response as? HTTPURLResponse)?.statusCode,
                data: data,
                hasError: error != nil
            )
        )
    }
    func failedToDecryptEvent(eventName: String, channelName: String, data: String?) {
        undecrypted.append("\(eventName) \(channelName) \(data ?? "")")
    }
    func receivedError(error: PusherError) { errors.append(error.description) }
}
