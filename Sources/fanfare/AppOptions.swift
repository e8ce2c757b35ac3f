import ArgumentParser
import CommandSupport
import FanfareAPI

/// The broker and the app that a command calls the HTTP API of.
struct AppOptions: ParsableArguments {
    @OptionGroup var broker: BrokerOptions

    @OptionGroup var key: AppKey

    @Option(help: "The app's ID (or FANFARE_APP_ID; default 1).")
    var appID: String?

    @Option(help: "The app's secret (or FANFARE_APP_SECRET, which process listings do not show).")
    var secret: String?

    func validate() throws {
        do {
            _ = try BrokerAddress(broker.httpURL)
        } catch {
            throw ValidationError("\(error).")
        }
    }

    /// A client of the app's API.
    var api: BrokerAPI {
        get throws(FanfareAPIError) { try api(sealer: nil) }
    }

    /// The same, with what encrypts events.
    func api(sealer: (any EventSealer)?) throws(FanfareAPIError) -> BrokerAPI {
        var settings = BrokerAPI.Settings()
        settings.trust = broker.insecure ? .insecure : broker.trust.map { .file($0) } ?? .system
        settings.sealer = sealer
        return try BrokerAPI(
            appID: variable("FANFARE_APP_ID", over: appID, default: "1"),
            key: key.key,
            secret: appSecret(over: secret),
            url: broker.httpURL,
            settings: settings
        )
    }
}
