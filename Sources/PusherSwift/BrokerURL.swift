import FanfareClient

/// The URL of a broker as the official client writes it: `wss://HOST:PORT/PREFIX/app/KEY?client=…`.
struct BrokerURL {
    let endpoint: Endpoint

    /// Where the options say that the broker is.
    init(_ options: PusherClientOptions) {
        let port = UInt16(clamping: options.port)
        let path = options.path ?? ""
        endpoint =
            options.useTLS
            ? .secure(host: options.host, port: port, pathPrefix: path)
            : .plain(host: options.host, port: port, pathPrefix: path)
    }

    /// Reads a URL; one of another form ends the program, since whoever wrote it is its author.
    init(_ url: String, _ key: String) {
        let path = url.prefix { $0 != "?" && $0 != "#" }
        let end = "/app/\(key)"
        guard path.hasSuffix(end), let endpoint = Endpoint(String(path.dropLast(end.count))) else {
            preconditionFailure(
                "\(url) is no URL of a broker with the key \(key): ws[s]://HOST[:PORT][/PREFIX]\(end)"
            )
        }
        self.endpoint = endpoint
    }
}
