import ArgumentParser
import CommandSupport
import FanfareAPI
import FanfareEncryption

/// `fanfare trigger`: sends an event as a backend does.
struct Trigger: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send an event to one or more channels or users, as a backend would.",
        discussion: """
            The data is sent unchanged, whether or not it is JSON. With - it is read from standard \
            input, and a line feed at its end is removed.

            Examples:
              fanfare trigger hello '{"from":"me"}' --channel news
              fanfare trigger hello 1 --channel news --channel sport
              date | fanfare trigger tick - --channel clock
              fanfare trigger hello 1 --channel news --info subscription_count
              fanfare trigger hello 1 --user ann
              fanfare trigger cursor '{"x":7}' --channel room --ephemeral
              fanfare trigger hello 1 --channel private-encrypted-x --master-key KEY

            --if-position publishes only if nothing was published on the channel since:
              fanfare trigger moved 1 --channel news --info position
              fanfare trigger moved 2 --channel news --if-position STREAM:SERIAL
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

    @Flag(help: "Send only to current subscribers: the event is not kept for later ones.")
    var ephemeral = false

    @Flag(help: "Wait until the event is on the broker's disk; needs a channel with store: sqlite.")
    var durable = false

    // A stream's ID may begin with "-".
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Publish only if this is the channel's last position; needs exactly one channel.",
            valueName: "stream:serial"
        )
    )
    var ifPosition: PositionOption?

    @Option(
        help: ArgumentHelp(
            "The master key of encrypted channels, 32 bytes in base64 (or FANFARE_MASTER_KEY).",
            valueName: "base64"
        )
    )
    var masterKey: String?

    @OptionGroup var app: AppOptions

    func validate() throws {
        if channels.isEmpty, users.isEmpty {
            throw ValidationError("Name a channel with --channel, or a user with --user.")
        }
        if ephemeral, durable {
            throw ValidationError("An --ephemeral event is not stored: leave out --durable.")
        }
        guard ifPosition != nil else { return }
        guard channels.count == 1, users.isEmpty else {
            throw ValidationError("--if-position needs exactly one --channel.")
        }
        if ephemeral {
            throw ValidationError("An --ephemeral event has no position: leave out --if-position.")
        }
    }

    func run() async throws {
        let text = data == "-" ? try Self.input() : data
        do {
            let states = try await trigger(text)
            let receivers =
                channels.map { Self.text($0, subscribers: states[$0]?.subscriptionCount) }
                + users.map { "user \($0)" }
            Console.print("sent \(event) to \(receivers.joined(separator: ", "))")
            guard !info.isEmpty else { return }
            let asksForCount = info.contains { $0.attribute == .subscriptionCount }
            for (channel, var state) in states.sorted(by: { $0.key < $1.key }) {
                if !asksForCount { state.subscriptionCount = nil }
                Console.print("\(channel): \(Self.describe(state))")
            }
        } catch {
            throw CommandError("\(error)")
        }
    }

    private func trigger(_ text: String) async throws -> [String: ChannelState] {
        let api = try app.api(sealer: sealer(for: text))
        // Whether anybody has got it is the question that follows.
        let attributes = Set(info.map(\.attribute)).union(
            channels.isEmpty ? [] : [.subscriptionCount]
        )
        if let ifPosition {
            return try await api.trigger(
                event,
                on: channels[0],
                text: text,
                except: socketID,
                info: attributes,
                ifPosition: ifPosition.position,
                durable: durable
            )
        }
        return try await api.trigger(
            event,
            on: channels + users.map { BrokerAPI.channel(ofUser: $0) },
            text: text,
            except: socketID,
            info: attributes,
            ephemeral: ephemeral,
            durable: durable
        )
    }

    /// A channel with the number of its subscribers, if the broker has returned it.
    private static func text(_ channel: String, subscribers count: Int?) -> String {
        guard let count else { return channel }
        return "\(channel) (\(count == 1 ? "1 subscriber" : "\(count) subscribers"))"
    }

    /// The attributes that the broker returned for a channel.
    static func describe(_ state: ChannelState) -> String {
        var facts: [String] = []
        if let count = state.subscriptionCount { facts.append("subscription_count \(count)") }
        if let count = state.userCount { facts.append("user_count \(count)") }
        if let cache = state.cache { facts.append("cache \(cache.data.debugDescription)") }
        if let position = state.position { facts.append("position \(PositionOption(position))") }
        return facts.isEmpty ? "no attributes" : facts.joined(separator: ", ")
    }

    /// What encrypts the event; `nil` if no channel is encrypted, or the data is encrypted already.
    private func sealer(for text: String) throws -> MasterKey? {
        guard let channel = channels.first(where: { $0.hasPrefix("private-encrypted-") }) else {
            return nil
        }
        let key = variable("FANFARE_MASTER_KEY", over: masterKey, default: "")
        if !key.isEmpty { return try MasterKey(option: key) }
        if text.contains("\"nonce\""), text.contains("\"ciphertext\"") { return nil }
        throw CommandError(
            "\(channel) is an encrypted channel: give the app's master key with --master-key or in "
                + "FANFARE_MASTER_KEY (32 bytes in base64), or give data that is already encrypted."
        )
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

/// The argument of `--if-position`, and how positions are printed: `STREAM:SERIAL`.
struct PositionOption: ExpressibleByArgument, CustomStringConvertible {
    let position: ChannelState.Position

    init(_ position: ChannelState.Position) { self.position = position }

    init?(argument: String) {
        guard let colon = argument.lastIndex(of: ":"), colon != argument.startIndex,
            let serial = UInt64(argument[argument.index(after: colon)...])
        else { return nil }
        position = ChannelState.Position(stream: String(argument[..<colon]), serial: serial)
    }

    var description: String { "\(position.stream):\(position.serial)" }
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
