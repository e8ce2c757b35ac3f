#if os(Linux)
    package import Net

    extension TLSContext {
        /// Creates a client's TLS context for any number of connections; it caches a session for each host.
        ///
        /// - Throws: The reason why the trusted certificates cannot be used.
        package static func client(
            _ verification: Verification
        ) throws(TLSError) -> TLSContext {
            let trust: TLSTrust =
                switch verification.roots {
                case .system: .system
                case .insecure: .insecure
                case .certificates(let der): .certificates(der)
                }
            return try client(trust: trust, pins: verification.pins)
        }
    }
#endif
