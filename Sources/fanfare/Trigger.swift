import ArgumentParser
import CommandSupport
import FanfareAPI

/// `fanfare trigger`: sends an event as a backend does.
struct Trigger: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send an event to one or more channels or users, as a backend would.",
        discussion: """
            The data is sent unchanged, whether or not it is JSON. With - it is read from standard \
            input, without a line feed at its end.

            Examples:
              fanfare trigger hello '{"from":"me"}' --channel news
              fanfare trigger hello 1 --channel news --channel sport
              date | fanfare trigger tick - --channel clock
              fanfare trigger hello 1 --channel news --info subscription_count
              fanfare trigger hello 1 --user ann
            """
    )

    @Argument(help: "The event's name.")
    var event: String

    @Argument(help: "The event's data, or - for standard input.")
    var data: String

    @Option(
        name: [.customLong("channel"), .customShort("c")],
        help: ArgumentHelp("A channel to send it to; may be repeated.", valueName: "channel")
    )
    var channels: [String] = []

    @Option(
        name: .customLong("user"),
        help: ArgumentHelp("A signed-in user to send it to; may be repeated.", valueName: "id")
    )
    var users: [String] = []

    @Option(
        help: ArgumentHelp(
            "The socket ID of a connection to exclude, such as 123.456.",
            valueName: "id"
        )
    )
    var socketID: String?

    @Option(
        help: ArgumentHelp(
            "An attribute of the channels to print; may be repeated.",
            valueName: "attribute"
        )
    )
    var info: [AttributeOption] = []

    @OptionGroup var broker: BrokerOptions

    @OptionGroup var app: AppKey

    @Option(help: "The app's ID (or FANFARE_APP_ID; default 1).")
    var appID: String?

    @Option(help: "The app's secret (or FANFARE_SECRET, which process listings do not show).")
    var secret: String?

    func validate() throws {
        if channels.isEmpty, users.isEmpty {
            throw ValidationError("Name a channel with --channel, or a user with --user.")
        }
        do {
            _ = try BrokerAddress(broker.httpURL)
        } catch {
            throw ValidationError("\(error).")
        }
    }

    func run() async throws {
        let text = data == "-" ? try Self.input() : data
        do {
            let api = try BrokerAPI(
                appID: variable("FANFARE_APP_ID", over: appID, default: "1"),
                key: app.key,
                secret: variable("FANFARE_SECRET", over: secret, default: "app-secret"),
                url: broker.httpURL,
                settings: settings
            )
            let states = try await api.trigger(
                event,
                on: channels + users.map { BrokerAPI.channel(ofUser: $0) },
                text: text,
                except: socketID,
                info: Set(info.map(\.attribute))
            )
            let receivers = channels + users.map { "user \($0)" }
            Console.print("sent \(event) to \(receivers.joined(separator: ", "))")
            for (channel, state) in states.sorted(by: { $0.key < $1.key }) {
                Console.print("\(channel): \(Self.describe(state))")
            }
        } catch {
            throw CommandError("\(error)")
        }
    }

    private var settings: BrokerAPI.Settings {
        var settings = BrokerAPI.Settings()
        settings.trust =
            broker.insecure ? .insecure : broker.trust.map { .file($0) } ?? .system
        return settings
    }

    /// The attributes that the broker returned for a channel.
    static func describe(_ state: ChannelState) -> String {
        var facts: [String] = []
        if let count = state.subscriptionCount { facts.append("subscription_count \(count)") }
        if let count = state.userCount { facts.append("user_count \(count)") }
        if let cache = state.cache { facts.append("cache \(cache.data.debugDescription)") }
        return facts.isEmpty ? "no attributes" : facts.joined(separator: ", ")
    }

    private static func input() throws -> String {
        var bytes = Console.readInput()
        if bytes.last == UInt8(ascii: "\n") { bytes.removeLast() }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw CommandError(
                "The data from standard input is not UTF-8; encode it first, for example with base64."
            )
        }
        return text
    }
}

/// The argument of `--info`.
struct AttributeOption: ExpressibleByArgument {
    let attribute: ChannelAttribute

    init?(argument: String) {
        guard let attribute = ChannelAttribute(rawValue: argument) else { return nil }
        self.attribute = attribute
    }

    static var allValueStrings: [String] { ChannelAttribute.allCases.map(\.rawValue) }
}
