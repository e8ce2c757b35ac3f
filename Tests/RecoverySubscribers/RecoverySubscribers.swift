import ArgumentParser
import FanfareClient

/// Clients of the Swift SDK that record what they receive, for `make recovery`.
@main
struct RecoverySubscribers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recovery-subscribers",
        abstract: "Subscribe with the Swift SDK and record what arrives.",
        discussion: """
            Prints "ready" when all subscriptions are confirmed, then answers the lines of standard \
            input until it ends.

              lasts    the smallest last number of each channel, as a JSON object
              report   a JSON object for each client, with the log of each channel; then "end"

            The data of each message begins with its number. An entry of a log is \
            [first, last, serial] for consecutive numbers and serials, or ["gap", reason].
            """
    )

    @Option(help: "The broker's address.")
    var url: String

    @Option(help: "The app's key.")
    var key = "app-key"

    @Option(help: "The number of clients.")
    var clients = 1

    @Option(help: "The channels of each client, separated by commas.")
    var channels: String

    func run() async throws {
        let endpoint = try Endpoint(url)
        let names = channels.split(separator: ",").map(String.init)
        let subscribers = (0..<clients).map { _ in
            Subscriber(key: key, endpoint: endpoint, channels: names)
        }
        for subscriber in subscribers { try await subscriber.waitUntilSubscribed() }
        answer("ready")
        while let line = readLine() {
            switch line {
            case "lasts":
                let lasts = subscribers.map(\.lasts)
                let members = names.indices.map { index in
                    "\"\(names[index])\":\(lasts.map { $0[index] }.min() ?? 0)"
                }
                answer("lasts {\(members.joined(separator: ","))}")
            case "report":
                for subscriber in subscribers { answer("log \(subscriber.report)") }
                answer("end")
            default:
                throw ValidationError("\"\(line)\" is neither \"lasts\" nor \"report\"")
            }
        }
    }

    private func answer(_ line: String) {
        print(line)
        flushStandardOutput()
    }
}
