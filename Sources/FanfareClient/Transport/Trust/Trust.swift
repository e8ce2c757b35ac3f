import HTTPClient

extension ClientOptions {
    /// Whose certificates a client accepts from a broker, with `wss`.
    ///
    /// ```swift
    /// var options = ClientOptions()
    /// options.trust = .file("/etc/company/authority.pem")
    /// ```
    public struct Trust: Sendable, Hashable {
        /// The same for the rooms below.
        let rules: HTTPTrust

        private init(_ roots: HTTPTrust.Roots, pins: Set<[UInt8]> = []) {
            rules = HTTPTrust(roots, pins: pins)
        }

        /// Those that the system's authorities have signed, for the host's name.
        public static let system = Trust(.system)

        /// Any: the connection is encrypted, but to whom is not known.
        ///
        /// For development alone, or with a pin.
        public static let insecure = Trust(.insecure)

        /// Those in a file, authorities or the broker's own, for the host's name.
        ///
        /// The file is read anew for each connection, so it can be replaced while a client runs.
        ///
        /// - Parameter path: A file of at most 4 MiB: any number of certificates in PEM form, or one in DER form.
        /// - Returns: The trust. A file that is no such thing makes connections fail with
        ///   ``FanfareError/untrusted(_:reason:)``, which says why.
        public static func file(_ path: String) -> Trust { Trust(.file(path)) }

        /// The same, given as the text of such a file.
        ///
        /// - Parameter text: At least one certificate in PEM form (RFC 7468).
        /// - Returns: The trust, judged when a connection is opened.
        public static func pem(_ text: [UInt8]) -> Trust { Trust(.pem(text)) }

        /// The same, given as the text of such a file.
        ///
        /// - Parameter text: At least one certificate in PEM form (RFC 7468).
        /// - Returns: The trust, judged when a connection is opened.
        public static func pem(_ text: String) -> Trust { Trust(.pem(Array(text.utf8))) }

        /// The same, given as certificates in DER form.
        ///
        /// - Parameter der: At least one certificate (X.509).
        /// - Returns: The trust, judged when a connection is opened.
        public static func certificates(_ der: [[UInt8]]) -> Trust { Trust(.certificates(der)) }

        /// The same, but only if a certificate on the way from the broker's to the trusted one has
        /// one of these public keys.
        ///
        /// Pin a spare key too: when the broker's key is replaced by one that is not pinned, no
        /// client gets through until it is updated. An endpoint that authorises channels is held to the
        /// same pins: if it has other keys, pin one of them too, or set
        /// ``AuthorizationEndpoint/trust``. Of ``insecure`` the broker's own certificate has to have the
        /// key; neither its name nor its dates count then.
        ///
        /// - Parameter keys: The keys; none takes earlier pins back.
        /// - Returns: The trust with these pins.
        public func pinned(to keys: Set<KeyPin>) -> Trust {
            Trust(rules.roots, pins: Set(keys.map(\.digest)))
        }
    }
}
