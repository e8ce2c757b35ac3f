import ArgumentParser
import Net

/// The client under test of a conformance suite: runs all its cases and requests the report.
@main struct ConformanceClient: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "websocket-conformance-client",
        abstract: "Runs every case of a WebSocket fuzzing server, sending each message back.",
        discussion: """
            Made for test suites such as Autobahn's, whose fuzzing server tests the client. The \
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

    @Flag(help: "Accept any certificate.")
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
        let (resident, caseCount) = try await reach(server, tls)
        let failedCount = try await runCases(caseCount, of: server, in: resident)
        let target = server.updateReports(agent: agent)
        if case .failed(let reason) = await resident.run(target, echoes: false) {
            throw RunFailure.noReport(reason)
        }
        guard failedCount == 0 else { throw RunFailure.casesMissing(failedCount, of: caseCount) }
        print("\(agent): \(caseCount) cases run; the results are in the server's report.")
    }

    /// Requests the case count from each of the host's addresses until one answers.
    private func reach(
        _ server: FuzzingServer,
        _ tls: TLSContext?
    ) async throws -> (ConformanceLoop, caseCount: Int) {
        var reasons: [String] = []
        for address in try SocketAddress.resolve(host: server.host, port: server.port) {
            let loop = try EventLoop(name: "client")
            let resident = try ConformanceLoop(
                loop: loop,
                server: server,
                address: address,
                tls: tls
            )
            try loop.start(resident)
            switch await resident.run(server.caseCount, echoes: false) {
            case .failed(let reason): reasons.append("\(address): \(reason)")
            case .completed(let message):
                let text = String(decoding: message ?? [], as: UTF8.self)
                guard let count = Int(text), count > 0 else { throw RunFailure.noCaseCount(text) }
                return (resident, count)
            }
        }
        throw RunFailure.unreachable(reasons)
    }

    /// Runs all cases; returns the number of cases that could not be run.
    ///
    /// A server may drop a connection and continue with the next case. After five failures in
    /// sequence the server counts as gone.
    private func runCases(
        _ caseCount: Int,
        of server: FuzzingServer,
        in resident: ConformanceLoop
    ) async throws -> Int {
        var progress = ProgressLine(caseCount: caseCount)
        var failedCount = 0
        var failedInSequence = 0
        for number in 1...caseCount {
            progress.show(number)
            let target = server.runCase(number, agent: agent)
            guard case .failed(let reason) = await resident.run(target, echoes: true) else {
                failedInSequence = 0
                continue
            }
            progress.interrupt("case \(number) was not run: \(reason)")
            failedCount += 1
            failedInSequence += 1
            if failedInSequence == 5 { throw RunFailure.serverGone }
        }
        progress.end()
        return failedCount
    }
}

/// The reason why a run is incomplete.
enum RunFailure: Error, CustomStringConvertible {
    /// No address of the server answered. The value has the reason for each.
    case unreachable([String])
    /// The case count is not a number.
    case noCaseCount(String)
    /// Several cases in sequence could not be run.
    case serverGone
    /// Some cases could not be run.
    case casesMissing(Int, of: Int)
    /// The server did not write its report.
    case noReport(String)

    var description: String {
        switch self {
        case .unreachable(let reasons):
            "The fuzzing server does not answer: \(reasons.joined(separator: "; "))."
        case .noCaseCount(let text): "The fuzzing server's case count \"\(text)\" is not a number."
        case .serverGone: "The fuzzing server is gone."
        case .casesMissing(let count, let all): "\(count) of \(all) cases could not be run."
        case .noReport(let reason):
            "The fuzzing server did not take the call for a report: \(reason)."
        }
    }
}
