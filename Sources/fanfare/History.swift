import ArgumentParser
import CommandSupport
import FanfareAPI
import FoundationEssentials
import Primitives
import PusherProtocol

/// `fanfare history`: shows the kept messages of a channel.
struct History: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the messages that the broker keeps for a channel, the oldest first.",
        discussion: """
            The broker keeps the last messages of channels in use. apps.N.recovery in its \
            configuration sets how many, and for how long. Messages are written to standard \
            output, one per line: serial, time, event and data. The channel's position is written \
            to standard error.

            Examples:
              fanfare history news
              fanfare history news --last 10
              fanfare history news --after 42
              fanfare history news --json | jq .data
              fanfare history news --purge
            """
    )

    @Argument(help: "The channel's name.")
    var channel: String

    @Option(help: ArgumentHelp("Show only this many of the latest messages.", valueName: "count"))
    var last: Int?

    @Option(help: ArgumentHelp("Show only the messages after this one.", valueName: "serial"))
    var after: UInt64?

    @Flag(help: "Print each message as one line of JSON.")
    var json = false

    @Flag(
        help: """
            Drop the kept messages and the cached event: the channel continues in another stream, \
            and clients are notified of a gap.
            """
    )
    var purge = false

    @OptionGroup var app: AppOptions

    func validate() throws {
        if let last, last < 1 { throw ValidationError("--last must be 1 or more.") }
        if purge, json || last != nil || after != nil {
            throw ValidationError("--purge drops everything and shows nothing: use it alone.")
        }
    }

    func run() async throws {
        do {
            let api = try app.api
            if purge {
                showPosition(try await api.purgeHistory(of: channel))
            } else if let last {
                try await show(last, of: api)
            } else {
                try await showAll(of: api)
            }
        } catch let error as FanfareAPIError {
            throw CommandError("\(error)")
        }
    }

    private func showAll(of api: BrokerAPI) async throws {
        var page = try await api.history(of: channel, after: after, limit: Self.pageLength)
        if page.isTruncated {
            Console.printError("messages before \(page.oldest ?? 0) are no longer kept")
        }
        show(page.messages)
        // Serials of another stream would leave out messages without a word.
        let stream = page.position?.stream
        while let next = page.next {
            page = try await api.history(
                of: channel,
                after: next,
                limit: Self.pageLength,
                stream: stream
            )
            show(page.messages)
        }
        showPosition(page.position)
    }

    private func show(_ count: Int, of api: BrokerAPI) async throws {
        var latest: [ChannelHistory.Message] = []
        var position: ChannelState.Position?
        var before: UInt64?
        repeat {
            let page = try await api.history(
                of: channel,
                after: after,
                before: before,
                order: .newest,
                limit: min(count - latest.count, Self.pageLength),
                stream: position?.stream
            )
            latest += page.messages
            position = position ?? page.position
            before = page.next
        } while latest.count < count && before != nil
        show(latest.reversed())
        showPosition(position)
    }

    private static let pageLength = 1_000

    private func showPosition(_ position: ChannelState.Position?) {
        guard let position else { return }
        Console.printError("position \(PositionOption(position))")
    }

    private func show(_ messages: [ChannelHistory.Message]) {
        for message in messages {
            Console.print(EventLine(isJSON: json, isColored: false).text(message))
        }
    }
}

extension EventLine {
    /// The line of a kept message, whose time has its date.
    ///
    ///     42 2026-03-01T09:33:23.125Z addUser {"id":1}
    func text(_ message: ChannelHistory.Message) -> String {
        let milliseconds = Int64((message.time.timeIntervalSince1970 * 1_000).rounded())
        let time = Timestamp(milliseconds * 1_000_000).text
        guard isJSON else {
            var words = [String(message.serial), time, message.event.printable]
            if let userID = message.userID { words.append("(\(userID.printable))") }
            if let data = message.data { words.append(data.printable) }
            return words.joined(separator: " ")
        }
        var json = JSONWriter()
        json.beginObject()
        json.name("serial")
        json.verbatim(Array(String(message.serial).utf8))
        json.name("time")
        json.string(time)
        for (name, value) in [
            ("event", message.event), ("data", message.data), ("user_id", message.userID),
        ] {
            guard let value else { continue }
            json.name(name)
            json.string(value)
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
