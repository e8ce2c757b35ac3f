/// The configuration of one app: its credentials, limits, features and webhooks.
public struct AppConfiguration: Sendable, Equatable {
    /// The app's ID, which is part of the HTTP API's paths.
    ///
    /// Official libraries require digits.
    public var id: String
    /// The public key, which clients send in the connection URL.
    public var key: String
    /// The secret that signs requests, subscriptions and webhooks; it is never logged.
    public var secret: String
    /// Further credentials that are accepted, for the replacement of a secret.
    public var credentials: [Credential] = []
    /// Whether the app is enabled; connections to a disabled app are refused with 4003.
    public var isEnabled = true
    /// Whether clients must use TLS; others are refused with 4000.
    public var isTLSOnly = false
    /// The origins of the web pages that may connect, such as `https://example.com` or `https://*.example.com`; empty
    /// for all.
    public var allowedOrigins: [String] = []

    /// The limits of the app.
    public var limits = AppLimits()
    /// The features of the app.
    public var features = AppFeatures()
    /// What the app's channels keep for clients that come back, except by the rules.
    public var recovery = RecoverySettings()
    /// The rules by channel; the first whose prefix fits applies.
    public var recoveryRules: [RecoveryRuleConfiguration] = []
    /// The webhook endpoints of the app.
    public var webhooks: [WebhookConfiguration] = []

    /// Creates an app with its credentials and the default limits.
    public init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    /// The app of a broker without configuration, and of the command-line program.
    ///
    /// Its clients may send client events, to try them out; for other apps the default is off, as at the hosted
    /// service.
    public static let development = {
        var app = AppConfiguration(id: "1", key: "app-key", secret: "app-secret")
        app.features.clientEvents = true
        return app
    }()

    /// All credentials of the app, its own first.
    package var allCredentials: [(key: String, secret: String)] {
        [(key, secret)] + credentials.map { ($0.key ?? key, $0.secret) }
    }
}

extension AppConfiguration {
    /// A further pair of key and secret, equivalent to the app's own.
    public struct Credential: Sendable, Hashable {
        /// The public key; `nil` for the app's own.
        public var key: String?
        /// The secret that signs; never logged.
        public var secret: String

        /// Creates a credential.
        public init(key: String? = nil, secret: String) {
            self.key = key
            self.secret = secret
        }
    }
}

extension [AppConfiguration] {
    /// Whether every app has the public credentials of the development app.
    package var areForDevelopment: Bool {
        let development = AppConfiguration.development
        return !isEmpty
            && allSatisfy { app in
                app.allCredentials.allSatisfy {
                    $0.key == development.key && $0.secret == development.secret
                }
            }
    }
}

extension AppConfiguration: CustomStringConvertible, CustomReflectable {
    /// The app without its secret, for logs.
    public var description: String { "app \(id) (key \(key))" }

    /// The fields for `dump` and debuggers, without the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "key": key, "secret": "(secret)"])
    }
}

extension AppConfiguration.Credential: CustomStringConvertible, CustomReflectable {
    /// The credential without its secret, for logs.
    public var description: String { "credential (key \(key ?? "of the app"))" }

    /// The fields for `dump` and debuggers, without the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["key": key ?? "of the app", "secret": "(secret)"])
    }
}
