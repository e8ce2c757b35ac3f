import ArgumentParser
import Broker
import BrokerConfiguration
import CommandSupport
import FanfareServer
import Foundation
import Glibc
import Logging
import Net
import ServerLog

/// `fanfare serve`: runs the broker until a signal stops it.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the broker.",
        discussion: """
            Without a configuration this is a development broker on 127.0.0.1:6001, with app ID 1, \
            key app-key and secret app-secret. It prints one line when it is ready. SIGTERM, \
            Ctrl-C or "fanfare drain" stops it gracefully; the same signal again stops it at once. \
            It reloads apps, certificates and log level on SIGHUP, and when its configuration file \
            or a certificate changes; clients stay connected, and the log names changes that need \
            a restart.

            Options override FANFARE_… variables, which override the file. A variable is a key's \
            path in capitals: FANFARE_LISTEN_PORT for listen.port.

            The log shows what the broker refuses, and why. --debug adds connections, \
            subscriptions and events; --log-level trace adds each message, without signatures.

            Examples:
              fanfare serve
              fanfare serve --debug
              fanfare serve --config fanfare.yaml --log-level trace
              fanfare serve --host 0.0.0.0 --app 42:a-key:a-secret
              fanfare serve --tls-port 6002 --tls-certificate c.pem --tls-key k.pem
            """
    )

    @OptionGroup var source: ConfigurationSource

    @Option(
        help:
            "The IP address to listen on, or several with commas; 0.0.0.0 or :: for every network."
    )
    var host: String?

    @Option(help: "The port of ws:// and http://; 0 for any free one, or none.")
    var port: String?

    @Option(help: "The port of wss:// and https://; 0 for any free one, or none.")
    var tlsPort: String?

    @Option(help: ArgumentHelp("The certificate chain, in PEM.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("The certificate's private key, in PEM.", valueName: "file"))
    var tlsKey: String?

    @Option(help: ArgumentHelp("A Unix domain socket to listen on as well.", valueName: "path"))
    var unixSocket: String?

    @Option(
        name: .customLong("app"),
        help: ArgumentHelp(
            "An app to serve instead of the configured ones; may be repeated.",
            valueName: "id:key:secret"
        )
    )
    var apps: [AppOption] = []

    @Option(help: "Number of event loop threads; 0 for one per core.")
    var loops: String?

    @Option(
        help: "The minimum level to log: trace, debug, info, notice, warning, error or critical."
    )
    var logLevel: String?

    @Flag(help: "Log connections, subscriptions and events: the same as --log-level debug.")
    var debug = false

    func validate() throws {
        if apps.contains(where: { $0.credentials == nil }) {
            throw ValidationError(
                "--app must be ID:KEY:SECRET, none of them empty; the value is not shown, since it may be a secret."
            )
        }
        if debug, logLevel != nil {
            throw ValidationError("--debug is --log-level debug: leave out one of them.")
        }
    }

    func run() async throws {
        // Before the file is read, so that no change is missed.
        let events = ControlEvents(file: source.path)
        signal(SIGPIPE, SIG_IGN)
        // Exceeding a file size limit is an error of the write, and must not end the broker.
        signal(SIGXFSZ, SIG_IGN)
        let configuration = try source.load(options)
        events.watch(CertificateWatch(configuration.certificates))
        let log = QueuedLog(
            to: STDERR_FILENO,
            format: configuration.log.format,
            level: configuration.log.level
        )
        defer { log.finish() }
        let logger = log.logger(label: "broker")
        let descriptors = DescriptorLimit.raise()
        logger.debug("descriptor limit", metadata: ["descriptors": "\(descriptors)"])

        // The broker needs no root privileges; for port 443, CAP_NET_BIND_SERVICE is enough.
        if geteuid() == 0, configuration.isExposed {
            logger.warning(
                "the broker runs as root: use a separate user, as config/fanfare.service does"
            )
        }

        for warning in configuration.warnings() {
            logger.warning("the configuration has a doubtful value: \(warning)")
        }
        let server: BrokerServer
        let addresses: BrokerServer.Addresses
        do {
            server = try BrokerServer(configuration: configuration, log: logger)
            let inherited = try InheritedSockets(
                environment: ProcessInfo.processInfo.environment
            )
            addresses = try await server.start(inherited: inherited)
        } catch {
            throw CommandError("\(error)")
        }
        logger.debug("ready", metadata: Self.metadata(of: addresses))
        Console.print(
            ReadyLine.text(
                plain: addresses.plainAll.map { "\($0)" },
                tls: addresses.tlsAll.map { "\($0)" },
                unix: addresses.unix.map { "\($0)" },
                keys: configuration.apps.filter(\.isEnabled).map(\.key)
            )
        )
        let reload = ConfigurationReload(server: server, log: log, watch: events.watch)
        let signal = await events.waitForStop { await reload.run(readConfiguration) }
        let count = await server.connectionCount
        logger.notice(
            "stopping",
            metadata: ["signal": "\(Signals.name(signal))", "clients": "\(count)"]
        )
        await server.stop()
        logger.notice("stopped")
    }

    private func readConfiguration() throws(ConfigurationError) -> Configuration {
        try source.read(options)
    }

    private static func metadata(of addresses: BrokerServer.Addresses) -> Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        for (name, all) in [
            ("plain", addresses.plainAll), ("tls", addresses.tlsAll),
            ("unix", addresses.unix.map { [$0] } ?? []), ("metrics", addresses.metricsAll),
        ] where !all.isEmpty {
            metadata[name] = "\(all.map { "\($0)" }.joined(separator: ", "))"
        }
        return metadata
    }

    /// The configuration values that the options set.
    var options: ConfigurationOptions {
        var options = ConfigurationOptions()
        for (option, key, value) in [
            ("--host", "listen.host", host), ("--port", "listen.port", port),
            ("--unix-socket", "listen.unix_socket", unixSocket),
            ("--tls-port", "tls.port", tlsPort),
            ("--tls-certificate", "tls.certificates.0.certificate", tlsCertificate),
            ("--tls-key", "tls.certificates.0.key", tlsKey), ("--loops", "loops", loops),
            ("--log-level", "log.level", logLevel), ("--debug", "log.level", debug ? "debug" : nil),
        ] {
            if let value { options.set(key, to: value, by: option) }
        }
        for app in apps.compactMap(\.credentials) { options.addApp(app, by: "--app") }
        return options
    }
}

/// The argument of `--app`: an app's credentials.
struct AppOption: ExpressibleByArgument {
    /// The secret is the rest of the argument, which may contain colons; `nil` if a part is missing.
    ///
    /// A malformed argument is refused by ``Serve/validate()``: the parser of arguments would print it.
    let credentials: (id: String, key: String, secret: String)?

    init(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        let isComplete = parts.count == 3 && !parts.contains("")
        credentials =
            isComplete ? (String(parts[0]), String(parts[1]), String(parts[2])) : nil
    }
}

/// The line on standard output that says that the broker is ready.
enum ReadyLine {
    /// The line, with the actual ports and the keys of the apps.
    static func text(plain: [String], tls: [String], unix: String?, keys: [String]) -> String {
        let addresses =
            (plain.map { "ws://\($0)" } + tls.map { "wss://\($0)" } + [unix].compactMap(\.self))
            .joined(separator: " ")
        let shown = keys.prefix(3).joined(separator: ", ")
        let others = keys.count > 3 ? " and \(keys.count - 3) more" : ""
        let noun = keys.count == 1 ? "key" : "keys"
        return "fanfare \(BrokerVersion.current): ready on \(addresses) "
            + "(app \(noun) \(shown)\(others))"
    }
}
