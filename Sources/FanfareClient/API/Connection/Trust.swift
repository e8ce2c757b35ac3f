import HTTPClient

extension ClientOptions {
    /// The certificates that a client accepts from the broker, for `wss`.
    ///
    /// ```swift
    /// var options = ClientOptions()
    /// options.network.trust = .file("/etc/company/authority.pem")
    /// ```
    public struct Trust: Sendable, Hashable {
        /// The trust for the HTTPClient module.
        let rules: HTTPTrust

        private init(_ roots: HTTPTrust.Roots, pins: Set<[UInt8]> = []) {
            rules = HTTPTrust(roots, pins: pins)
        }

        /// Certificates for the host's name, signed by an authority that the system trusts.
        public static let system = Trust(.system)

        /// Any certificate: the connection is encrypted, but the broker is not authenticated.
        ///
        /// For development only, or together with a pin.
        public static let insecure = Trust(.insecure)

        /// Accepts certificates for the host's name that are signed by, or equal to, one in a file.
        ///
        /// The file is read for each connection, so it can be replaced while a client runs.
        ///
        /// - Parameter path: A file of at most 4 MiB: any number of certificates in PEM form, or one in DER form.
        /// - Returns: The trust. With an unreadable file, connections fail with ``FanfareError/Code/untrusted``.
        public static func file(_ path: String) -> Trust { Trust(.file(path)) }

        /// Accepts the same certificates as ``file(_:)``, with the file's text.
        ///
        /// - Parameter text: At least one certificate in PEM form (RFC 7468).
        /// - Returns: The trust, validated when a connection is opened.
        public static func pem(_ text: String) -> Trust { Trust(.pem(Array(text.utf8))) }

        /// Accepts the same certificates as ``file(_:)``, with certificates in DER form.
        ///
        /// - Parameter der: At least one certificate (X.509).
        /// - Returns: The trust, validated when a connection is opened.
        public static func certificates(_ der: [[UInt8]]) -> Trust { Trust(.certificates(der)) }

        /// Returns this trust, restricted to chains in which a verified certificate has one of these public keys.
        ///
        /// Also pin a spare key: if the broker changes to a key that is not pinned, clients cannot connect until they
        /// are updated. The pins also apply to authorisation endpoints. If an endpoint has other keys, pin one of them
        /// too, or pass a `trust` to the ``AuthorizationEndpoint``. With ``insecure`` the broker's own certificate must
        /// have the key; its name and dates are not checked.
        ///
        /// - Parameter keys: The keys, which replace earlier pins; an empty set removes them.
        /// - Returns: The trust with these pins.
        public func pinned(to keys: Set<KeyPin>) -> Trust {
            Trust(rules.roots, pins: Set(keys.map(\.digest)))
        }
    }
}
