import ArgumentParser
import Net

/// What a conformance suite for clients talks to: runs all its cases and asks for the report.
@main struct ConformanceClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "websocket-conformance-client",
        abstract: "Runs every case of a WebSocket fuzzing server, sending each message back.",
        discussion: """
            Made for test suites such as Autobahn's, whose fuzzing server judges the client. The \
            client offers permessage-deflate.

            EXAMPLES
              websocket-conformance-client ws://127.0.0.1:9001 --agent fanfare
              websocket-conformance-client wss://localhost:9002 --agent fanfare --trust cert.pem
            """
    )

    @Argument(help: "The fuzzing server: ws://HOST:PORT or wss://HOST:PORT.")
    var url: String

    @Option(help: "The client's name in the report.")
    var agent: String

    @Option(help: "Certificates in PEM to trust instead of the machine's.")
    var trust: String?

    @Flag(help: "Believe any certificate.")
    var insecure = false

    func validate() throws {
        guard FuzzingServer(url) != nil else {
            throw ValidationError(
                "\"\(url)\" is not of the form ws://HOST:PORT or wss://HOST:PORT."
            )
        }
        guard !agent.isEmpty else { throw ValidationError("The agent needs a name.") }
        guard trust == nil || !insecure else {
            throw ValidationError("Choose --trust or --insecure.")
        }
    }

    func run() async throws {
        guard let server = FuzzingServer(url) else { preconditionFailure("validated before") }
        var tls: TLSContext?
        if server.isSecure {
            tls = try .client(trust: insecure ? .insecure : trust.map { .file($0) } ?? .system)
        }
        let (room, caseCount) = try await reach(server, tls)
        let unheld = try await runCases(caseCount, of: server, in: room)
        let target = server.updateReports(agent: agent)
        if case .failed(let reason) = await room.hold(target, echoes: false) {
            throw RunFailure.noReport(reason)
        }
        guard unheld == 0 else { throw RunFailure.casesMissing(unheld, of: caseCount) }
        print("\(agent): \(caseCount) cases run; the verdicts are in the server's report.")
    }

    /// Asks for the case count at each of the host's addresses until one answers.
    private func reach(
        _ server: FuzzingServer,
        _ tls: TLSContext?
    ) async throws -> (ClientRoom, caseCount: Int) {
        var reasons: [String] = []
        for address in try SocketAddress.resolve(host: server.host, port: server.port) {
            let loop = try EventLoop(name: "client")
            let room = try ClientRoom(loop: loop, server: server, address: address, tls: tls)
            try loop.start(room)
            switch await room.hold(server.caseCount, echoes: false) {
            case .failed(let reason): reasons.append("\(address): \(reason)")
            case .held(let message):
                let text = String(decoding: message ?? [], as: UTF8.self)
                guard let count = Int(text), count > 0 else { throw RunFailure.noCaseCount(text) }
                return (room, count)
            }
        }
        throw RunFailure.unreachable(reasons)
    }

    /// Runs all cases; returns how many could not be.
    ///
    /// A server that drops a connection has its reasons and goes on with the next; one that is not
    /// to be reached for some cases on end is gone.
    private func runCases(
        _ caseCount: Int,
        of server: FuzzingServer,
        in room: ClientRoom
    ) async throws -> Int {
        var progress = ProgressLine(caseCount: caseCount)
        var unheld = 0
        var unheldOnEnd = 0
        for number in 1...caseCount {
            progress.show(number)
            let target = server.runCase(number, agent: agent)
            guard case .failed(let reason) = await room.hold(target, echoes: true) else {
                unheldOnEnd = 0
                continue
            }
            progress.interrupt("case \(number) was not run: \(reason)")
            unheld += 1
            unheldOnEnd += 1
            if unheldOnEnd == 5 { throw RunFailure.serverGone }
        }
        progress.end()
        return unheld
    }
}
