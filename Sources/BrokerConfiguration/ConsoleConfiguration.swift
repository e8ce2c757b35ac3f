/// The console, a page that shows what the broker does.
public struct ConsoleConfiguration: Sendable, Hashable {
    /// The IP addresses that are listened on, at least one.
    public var hosts = ["127.0.0.1"]
    /// The port of the listener; 0 for any free port, `nil` for no listener.
    public var port: UInt16?
    /// The password of the page; required with a port.
    public var password: String?
    /// Whether the page shows the data of events; `nil` for the development app alone.
    public var payloads: Bool?

    /// Creates the default: no listener.
    public init() {}

    /// The minimum length of the password, in characters.
    static let passwordLengthMin = 12
}
