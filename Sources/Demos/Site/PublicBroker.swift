/// What a page must know of the broker; nothing of it is secret.
package struct PublicBroker: Encodable, Sendable {
    /// The app's key.
    package let key: String
    /// Where a browser finds the broker; `nil` for the host that served the page.
    package let host: String?
    /// The broker's port, plain or TLS.
    package let port: UInt16
    /// Whether the page connects by `wss`.
    package let tls: Bool
    /// The URL of stock pusher-js, for pages that are opened with `?client=pusher-js`.
    package let pusherJS: String

    /// Where the maker of pusher-js serves it.
    package static let pusherJS = "https://js.pusher.com/8.4.0/pusher.min.js"

    /// Describes the broker to the pages.
    ///
    /// - Parameters:
    ///   - key: The app's key.
    ///   - host: Where a browser finds the broker; `nil` for the host that served the page.
    ///   - port: The broker's port, plain or TLS.
    ///   - tls: Whether the page connects by `wss`.
    ///   - pusherJS: The URL of stock pusher-js.
    package init(
        key: String,
        host: String?,
        port: UInt16,
        tls: Bool,
        pusherJS: String = PublicBroker.pusherJS
    ) {
        self.key = key
        self.host = host
        self.port = port
        self.tls = tls
        self.pusherJS = pusherJS
    }
}
