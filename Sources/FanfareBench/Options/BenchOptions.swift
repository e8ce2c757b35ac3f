import ArgumentParser
import CommandSupport
import Glibc
import HTTPClient
import Net
import PusherProtocol

/// The options of all benchmarks: the server, the app, and the JSON file.
struct BenchOptions: ParsableArguments {
    @OptionGroup var broker: BrokerOptions

    @Option(
        name: .customLong("backend-url"),
        help: .url("Where events are triggered, if that is another node of a cluster than --url.")
    )
    var backendURL: String?

    @OptionGroup var app: AppKey
    @Option(help: "The app's ID (or FANFARE_APP_ID; default 1).") var appID: String?

    @Option(help: "The app's secret (or FANFARE_APP_SECRET, which process listings do not show).")
    var secret: String?

    @Option(
        help: ArgumentHelp(
            """
            The server's process ID, to measure CPU time and memory; found automatically if it \
            listens on this machine and belongs to your user.
            """,
            valueName: "pid"
        )
    )
    var pid: Int32?

    @Flag(help: "Offer permessage-deflate with server_no_context_takeover.") var deflate = false

    @Option(
        help: ArgumentHelp(
            "Also write a JSON object to this file; - prints it instead of the table.",
            valueName: "file"
        )
    )
    var json: String?

    func validate() throws {
        _ = try target()
    }

    func target() throws -> TargetServer {
        guard let url = ServerURL(webSocketURL: broker.text) else {
            throw ValidationError("--url must be like ws://127.0.0.1:6001 or wss://host/prefix")
        }
        if let pid, ServerProcess(id: pid) == nil {
            throw ValidationError("--pid \(pid): no such process, or it cannot be read")
        }
        return TargetServer(
            url: url,
            backend: try backendURL.map { try address(of: $0, "--backend-url") },
            key: app.key,
            secret: AppSecret(appSecret(over: secret)),
            appID: variable("FANFARE_APP_ID", over: appID, default: "1"),
            serverID: pid,
            trust: broker.insecure ? .insecure : broker.trust.map { .file($0) } ?? .system,
            offersDeflate: deflate
        )
    }

    /// The address of another node of the cluster that an option names; with TLS if `--url` has it.
    func address(of text: String, _ option: String) throws -> SocketAddress {
        guard let url = ServerURL(webSocketURL: text),
            url.isSecure == ServerURL(webSocketURL: broker.text)?.isSecure
        else {
            throw ValidationError("\(option) must be an address like that of --url")
        }
        guard let address = try? SocketAddress.resolve(host: url.host, port: url.port).first else {
            throw ValidationError("\(option): \(url.host) was not found")
        }
        return address
    }

    /// Runs a benchmark, prints the report and writes the JSON object; throws if it failed or found a fault.
    func run(_ scenario: any Scenario) throws {
        let output = try BenchOutput(path: json)
        let result = try result(of: scenario, output)
        try output.write(result.json)
        if let fault = result.fault { throw CommandError(fault) }
    }

    /// Runs a benchmark and prints the report, unless the JSON object replaces it; an error is a fault.
    func result(
        of scenario: any Scenario,
        _ output: BenchOutput,
        tableEnd: String = ""
    ) throws -> (json: [UInt8], fault: String?, isReachable: Bool) {
        let target = try target()
        do throws(BenchError) {
            let report = try BenchLoop.report(on: scenario, of: target)
            if !output.isStandard { Console.print(report.table + tableEnd) }
            return (report.json, report.fault.map { "\($0)." }, true)
        } catch {
            let isReachable = if case .unreachable = error { false } else { true }
            let json = BenchReport.json(type(of: scenario).name, failure: error)
            return (json, error.description, isReachable)
        }
    }
}

/// The destination of a benchmark's JSON object.
struct BenchOutput {
    private let path: String?

    /// Creates the file, so that an unwritable path fails before a long run; `-` is standard output, nil no JSON.
    init(path: String?) throws {
        self.path = path
        guard let path, !isStandard else { return }
        try Self.write("", to: path)
    }

    /// Whether the JSON object replaces the table.
    var isStandard: Bool { path == "-" }

    func write(_ json: [UInt8]) throws {
        guard let path else { return }
        let text = String(decoding: json, as: UTF8.self)
        if isStandard { return Console.print(text) }
        try Self.write(text + "\n", to: path)
    }

    private static func write(_ text: String, to path: String) throws {
        let bytes = Array(text.utf8)
        guard let file = fopen(path, "w") else { throw writeError(path) }
        let count = fwrite(bytes, 1, bytes.count, file)
        // Buffered bytes are written now, and may not fit on the disk.
        guard fclose(file) == 0, count == bytes.count else { throw writeError(path) }
    }

    private static func writeError(_ path: String) -> CommandError {
        CommandError("--json \(path) cannot be written: \(String(cString: strerror(errno))).")
    }
}
