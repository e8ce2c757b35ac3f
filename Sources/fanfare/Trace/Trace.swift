import ArgumentParser
import CommandSupport
import FanfareAPI
import Glibc
import PusherProtocol

/// `fanfare trace`: shows what happens in an app of a broker that runs.
struct Trace: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show a broker's events, subscriptions, connections and refusals, live.",
        discussion: """
            Shows what happens in one app from now on, one line each, until you end the program. The \
            app's key and secret authorize it, as they do "fanfare trigger". With several options \
            it shows only what matches all of them.

            --user shows what names the user: sign-ins, presence channels, events to the user. \
            After the user's next sign-in or presence channel it also follows that connection.

            It shows at most 500 lines per quarter of a second, each with the first 1,024 \
            characters of its data, and prints on standard error how many it left out. In a \
            cluster it shows only the node that it is connected to. The broker records nothing \
            while no trace runs.

            Examples:
              fanfare trace
              fanfare trace --channel presence-room
              fanfare trace --user 42
              fanfare trace --socket 27.9132
              fanfare trace --event order-paid --json | jq .data
              fanfare trace --app-id 2 --key k2 --url https://push.example.com
            """
    )

    @Option(help: ArgumentHelp("Only this channel.", valueName: "name"))
    var channel: String?

    @Option(help: ArgumentHelp("Only this user.", valueName: "id"))
    var user: String?

    @Option(help: ArgumentHelp("Only this client, by its socket ID.", valueName: "id"))
    var socket: String?

    @Option(help: ArgumentHelp("Only events of this name.", valueName: "name"))
    var event: String?

    @Option(help: "Stop after this many lines.")
    var count: Int?

    @Flag(help: "Print each as one line of JSON.")
    var json = false

    @OptionGroup var app: AppOptions

    func validate() throws {
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
        if let socket, SocketID(socket) == nil {
            throw ValidationError("--socket must be a socket ID such as 27.9132, not \(socket).")
        }
    }

    func run() async throws {
        do {
            let api = try app.api
            var id = try await api.beginTrace(selection)
            Console.printError("tracing app \(api.appID) at \(app.broker.httpURL) …")
            var printer = TracePrinter(
                text: TraceText(isJSON: json, isColored: Console.supportsColor(STDOUT_FILENO)),
                remaining: count ?? .max
            )
            var (isLost, hasEnded) = (false, false)
            while true {
                do {
                    if hasEnded {
                        id = try await api.beginTrace(selection)
                        Console.printError("the trace had ended; a new one has begun")
                        hasEnded = false
                    }
                    try printer.print(try await api.traceRecords(id))
                    isLost = false
                } catch let error as FanfareAPIError where error.isOfEndedTrace {
                    // The broker was restarted or is stopping, or this program was paused.
                    hasEnded = true
                } catch let error as FanfareAPIError where error.isRepeatable {
                    if !isLost { Console.printError("\(error) Trying again …") }
                    isLost = true
                }
                guard !printer.isDone else { break }
                try await Task.sleep(for: isLost ? .seconds(1) : .milliseconds(250))
            }
            try? await api.endTrace(id)
        } catch let error as FanfareAPIError {
            throw CommandError("\(error)")
        }
    }

    private var selection: BrokerAPI.TraceSelection {
        var selection = BrokerAPI.TraceSelection()
        (selection.channel, selection.event) = (channel, event)
        (selection.user, selection.socketID) = (user, socket)
        return selection
    }
}

extension FanfareAPIError {
    /// Whether the broker does not know the trace.
    fileprivate var isOfEndedTrace: Bool {
        if case .refused(status: 404, message: _) = self { true } else { false }
    }

    /// Whether the broker may be back a moment later.
    fileprivate var isRepeatable: Bool {
        switch self {
        case .unreachable, .connectionLost, .timedOut: true
        case .refused(let status, _): status == 429 || status >= 500
        default: false
        }
    }
}
