/// One app: who may connect and trigger with which credentials, and within which limits.
public struct AppConfiguration: Sendable, Hashable {
    /// The app's ID, which is part of the HTTP API's paths; digits, for official libraries demand them.
    public var id: String
    /// The public key, which clients put in the connection URL.
    public var key: String
    /// The secret that signs requests and subscriptions; never logged.
    public var secret: String
    /// Whether the app may be used; connections to a disabled one are refused with 4003.
    public var isEnabled = true
    /// The connections of this app; `nil` leaves it to the limit of the process.
    public var connectionsMax: Int?
    /// The channels that one connection may be subscribed to.
    public var subscriptionsMax = 10_000
    /// The length of an event's data, in bytes.
    public var eventDataLengthMax = 10_240
    /// The length of a channel's name, in characters.
    public var channelNameLengthMax = 200
    /// The members of one presence channel, each with any number of connections.
    public var membersMax = 100
    /// The length of what a member tells the others, in bytes of JSON.
    public var userInfoLengthMax = 1_024

    /// Creates an app with its credentials and the default limits.
    public init(id: String, key: String, secret: String) {
        self.id = id
        self.key = key
        self.secret = secret
    }

    /// The app that a broker without configuration serves, and that the command-line program uses.
    public static let development = AppConfiguration(
        id: "1",
        key: "app-key",
        secret: "app-secret"
    )

    /// Whether a stranger knows the secret or may guess it from the documentation.
    var hasDevelopmentCredentials: Bool {
        key == Self.development.key || secret == Self.development.secret
    }
}

extension AppConfiguration: CustomStringConvertible, CustomReflectable {
    /// The app without its secret, fit for a log.
    public var description: String { "app \(id) (key \(key))" }

    /// What `dump` and debuggers show: all but the secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["id": id, "key": key, "secret": "(secret)"])
    }
}
