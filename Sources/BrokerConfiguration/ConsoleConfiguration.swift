internal import Broker
internal import Net

extension Configuration {
    /// The console, a page that shows what the broker does.
    public struct Console: Sendable, Hashable {
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

    /// Whether the console is served at `/` of the plain port, without a password.
    ///
    /// That is a broker for development, which only this machine can reach and whose credentials are public.
    package var servesOpenConsole: Bool {
        guard hosts.allSatisfy({ SocketAddress(ip: $0, port: 0)?.isLoopback == true }), port != nil,
            console.port == nil, unixSocket == nil
        else { return false }
        return apps.areForDevelopment
    }
}

/// The keys of the console.
enum ConsoleKeys {
    typealias Key = ConfigurationKey<Configuration>

    static let all: [Key] = [
        Key(
            "console.host",
            \.console.hosts,
            oneOrMore: .address,
            help: """
                The address of the console. On any other than 127.0.0.1 it uses tls.certificates; \
                without them its password crosses the network in clear text. Leave it on 127.0.0.1 \
                behind a tunnel (ssh -L 6060:127.0.0.1:6060 HOST) or a proxy with TLS. For several \
                addresses, write a list.
                """
        ),
        Key(
            "console.port",
            \.console.port,
            SettingKind<UInt16>.port.orNone(),
            help: "The port of the console. 0: any free port. none: no console."
        ),
        Key(
            "console.password",
            \.console.password,
            SettingKind<String>.secret.orNone(),
            help: """
                The password, 12 characters or more; required with a port. Anyone who signs in \
                sees and sends events of all apps. Set it by the variable \
                FANFARE_CONSOLE_PASSWORD. After five wrong passwords in a minute, an address has \
                to wait.
                """
        ),
        Key(
            "console.payloads",
            \.console.payloads,
            SettingKind<Bool>.yesOrNo.orNone(),
            help: """
                true: the page shows the data of events. false: it does not. none: only with the \
                development app alone.
                """
        ),
    ]
}

extension Configuration {
    /// The faults of the console: its listener needs a password and a port of its own.
    func consoleFaults(besides known: Set<String>) -> [ConfigurationFault] {
        var faults: [ConfigurationFault] = []
        func add(_ key: String, _ problem: String) {
            guard !known.contains(key) else { return }
            faults.append(ConfigurationFault(key: key, problem: problem))
        }
        guard let port = console.port else {
            if console.password != nil {
                add("console.password", "is of no use without console.port: set it, as to 6060")
            }
            return faults
        }
        let ports = [
            ("listen.port", self.port), ("tls.port", tlsPort), ("metrics.port", metrics.port),
        ]
        for (key, other) in ports where port != 0 && other == port {
            add("console.port", "is \(port), as \(key) is: choose one of its own")
        }
        guard let password = console.password else {
            add("console.port", "needs console.password: who signs in sees and sends events")
            return faults
        }
        if password.utf8.count < Console.passwordLengthMin {
            add(
                "console.password",
                "must have \(Console.passwordLengthMin) characters or more"
            )
        }
        return faults
    }
}
