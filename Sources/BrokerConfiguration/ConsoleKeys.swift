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
