import ArgumentParser
import CommandSupport
import Dispatch
import FanfareAPI
import FanfareClient
import FoundationEssentials
import Glibc
import Synchronization

/// `fanfare listen`: shows events.
struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the events of one or more channels, or of a user.",
        discussion: """
            Events are written to standard output, one per line; the status of the connection is \
            written to standard error. A lost connection is reopened until you end the program; if \
            every subscription is refused, it ends with exit code 1. Private channels need the app's secret; presence channels also need --user.

            Examples:
              fanfare listen news
              fanfare listen news sport --count 10
              fanfare listen news --json | jq .data
              fanfare listen presence-room --user ann --user-info '{"name":"Ann"}' --watch bob
              fanfare listen news --url wss://broker.example.com --key a-key
              fanfare listen private-encrypted-x --master-key KEY
            """
    )

    @Argument(help: ArgumentHelp("The channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @OptionGroup var broker: BrokerOptions

    @OptionGroup var app: AppKey

    @OptionGroup var user: UserOptions

    @Option(
        help: ArgumentHelp(
            "The master key of encrypted channels, 32 bytes in base64 (or FANFARE_MASTER_KEY).",
            valueName: "base64"
        )
    )
    var masterKey: String?

    @Flag(help: "Print each event as one line of JSON.")
    var json = false

    @Option(help: "Stop after this many events.")
    var count: Int?

    func validate() throws {
        _ = try endpoint
        if channels.isEmpty, user.id == nil {
            throw ValidationError("Name a channel, or a user with --user.")
        }
        if let channel = channels.first(where: { $0.hasPrefix("presence-") }), user.id == nil {
            throw ValidationError("\(channel) is a presence channel: name a user with --user.")
        }
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
    }

    func run() async throws {
        let endpoint = try endpoint
        let opener = try EncryptedEvents(channels: channels, masterKey: masterKey)
        let client = Fanfare(key: app.key, endpoint: endpoint, options: clientOptions)
        let formatter = EventLine(isJSON: json, isColored: Console.supportsColor(STDOUT_FILENO))
        let remaining = RemainingEvents(limit: count)
        let (endings, ending) = AsyncStream.makeStream(of: (any Error)?.self)
        // When the reader of the output is slow, calls wait, and the client stops reading: no event is lost.
        client.bind { event in
            if let line = ProtocolLine.text(event) { Console.printError(line) }
            guard !ProtocolLine.isConnectionEvent(event) else { return }
            guard !remaining.isEmpty else { return }
            Console.print(formatter.text(opener.opened(event), at: Date()))
            if remaining.consume() { ending.yield(nil) }
        }
        let own = user.id.map { [BrokerAPI.channel(ofUser: $0)] } ?? []
        let refusals = SubscriptionRefusals(channels: own + channels)
        client.onError { error in
            guard refusals.isNews(error) else { return }
            let conclusion = refusals.conclusion(behind: error)
            if conclusion == nil || refusals.areSeveral { Console.printError("\(error)") }
            if let conclusion { ending.yield(conclusion) }
        }
        client.onStatusChange { status in
            if let line = StatusLine.text(status, endpoint: endpoint) { Console.printError(line) }
            if case .failed(let error) = status { ending.yield(error) }
        }
        for channel in own + channels { client.subscribe(channel) }
        client.connect()
        for await error in endings {
            client.disconnect()
            if let error {
                // The client's advice names the option of its API.
                throw CommandError(
                    "\(error)".replacing("ClientOptions.network.trust", with: "the file of --trust")
                )
            }
            return
        }
    }

    private var endpoint: Endpoint {
        get throws(ValidationError) {
            do throws(InvalidOption) {
                return try Endpoint(broker.text)
            } catch {
                throw ValidationError("\(error).")
            }
        }
    }

    private var clientOptions: ClientOptions {
        var options = ClientOptions()
        options.network.trust =
            broker.insecure ? .insecure : broker.trust.map { .file($0) } ?? .system
        options.signer = user.signer(key: app.key)
        return options
    }
}

/// The subscriptions that the broker has refused.
final class SubscriptionRefusals: Sendable {
    private struct State {
        var channels: Set<String> = []
        /// The last reason, which the broker repeats in an error of its own (Pusher protocol, "Channel errors").
        var reason = ""
    }

    private let channels: Set<String>
    private let state = Mutex(State())

    /// Begins without refusals; the channels are those that the program subscribes to.
    init(channels: [String]) { self.channels = Set(channels) }

    /// Records an error; returns whether it says something that was not reported.
    func isNews(_ error: FanfareError) -> Bool {
        state.withLock { state in
            switch error.code {
            case .subscriptionRefused:
                // Of an overloaded broker, the client asks again.
                let isFinal = error.status.map { $0 != 429 && $0 < 500 } ?? true
                if isFinal, let channel = error.channel { state.channels.insert(channel) }
                state.reason = error.reason
                return true
            case .reported where error.reason == state.reason:
                state.reason = ""
                return false
            default: return true
            }
        }
    }

    /// Whether there is more than one subscription.
    var areSeveral: Bool { channels.count > 1 }

    /// The error that ends the program if every subscription was refused; `nil` if not.
    func conclusion(behind error: FanfareError) -> CommandError? {
        guard state.withLock({ $0.channels.isSuperset(of: channels) }) else { return nil }
        let message =
            areSeveral ? "all \(channels.count) subscriptions are refused" : error.message
        let advice =
            error.status == 401 ? ". Check --secret (or FANFARE_APP_SECRET) and --key." : ""
        return CommandError(message + advice)
    }
}

/// Counts down the events to show.
final class RemainingEvents: Sendable {
    private let remaining: Mutex<Int?>

    /// Creates a counter; `nil` is unlimited.
    init(limit: Int?) { remaining = Mutex(limit) }

    /// Whether all events have been shown.
    var isEmpty: Bool { remaining.withLock { $0 == 0 } }

    /// Counts an event; returns whether it was the last.
    func consume() -> Bool {
        remaining.withLock { remaining in
            guard let count = remaining, count > 0 else { return false }
            remaining = count - 1
            return count == 1
        }
    }
}
