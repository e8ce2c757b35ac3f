/// The broker's public address and key, for the pages.
package struct PublicBroker: Encodable, Sendable {
    /// The app's key.
    package let key: String
    /// The broker's host for browsers; `nil` for the host that serves the page.
    package let host: String?
    /// The broker's port, plain or TLS.
    package let port: UInt16
    /// Whether the page connects with `wss`.
    package let tls: Bool
    /// The URL of pusher-js, for pages opened with `?client=pusher-js`.
    package let pusherJS: String

    /// The official URL of pusher-js.
    package static let pusherJS = "https://js.pusher.com/8.4.0/pusher.min.js"

    /// Creates the description of a broker; without a host, it is on the host that serves the page.
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

    /// Returns the origin from which pages load the broker's scripts; `nil` if the authority has no valid host.
    package func origin(besides authority: String?) -> String? {
        let name = host ?? authority.map(Self.hostName)
        // The name becomes part of a header field.
        guard let name, !name.isEmpty, name.allSatisfy(Self.isOfHostName) else { return nil }
        return "\(tls ? "https" : "http")://\(name):\(port)"
    }

    /// Returns the host of an authority, without its port.
    private static func hostName(_ authority: String) -> String {
        guard let colon = authority.lastIndex(of: ":"), !authority.hasSuffix("]") else {
            return authority
        }
        return String(authority[..<colon])
    }

    private static func isOfHostName(_ character: Character) -> Bool {
        character.isASCII && (character.isLetter || character.isNumber)
            || "-._:[]".contains(character)
    }
}
