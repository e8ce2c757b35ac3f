import ArgumentParser
import Dispatch
import FanfareAPI
import FanfareClient
import FoundationEssentials
import Glibc

/// `fanfare listen`: shows events as they come.
struct Listen: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the events of one or more channels, or of a user, as they come.",
        discussion: """
            Events go to standard output, a line each; what happens to the connection goes to \
            standard error. A lost connection is opened again until you end the program. With the \
            app's secret private channels can be listened to, and as a user presence channels.

            Examples:
              fanfare listen news
              fanfare listen news sport --count 10
              fanfare listen news --json | jq .data
              fanfare listen presence-room --user ann --user-info '{"name":"Ann"}' --watch bob
              fanfare listen news --url wss://broker.example.com --key a-key
            """
    )

    @Argument(help: ArgumentHelp("The channels to subscribe to.", valueName: "channel"))
    var channels: [String] = []

    @OptionGroup var broker: BrokerOptions

    @OptionGroup var app: AppKey

    @OptionGroup var user: UserOptions

    @Flag(help: "Print each event as a JSON object on a line of its own.")
    var json = false

    @Option(help: "Stop after this many events.")
    var count: Int?

    func validate() throws {
        guard Endpoint(broker.text) != nil else {
            throw ValidationError(
                "\(broker.text) is not the address of a broker: "
                    + "expected http://host:port or https://host:port."
            )
        }
        if channels.isEmpty, user.id == nil {
            throw ValidationError("Name a channel, or a user with --user.")
        }
        if let channel = channels.first(where: { $0.hasPrefix("presence-") }), user.id == nil {
            throw ValidationError("\(channel) is joined as a user: name one with --user.")
        }
        if let count, count < 1 { throw ValidationError("--count must be 1 or more.") }
    }

    func run() async throws {
        guard let endpoint = Endpoint(broker.text) else { return }  // It has been validated.
        let client = FanfareClient(key: app.key, endpoint: endpoint, options: clientOptions)
        let form = EventLine(isJSON: json, isColored: Standard.isColored(STDOUT_FILENO))
        let remaining = Countdown(from: count)
        let (endings, ending) = AsyncStream.makeStream(of: FanfareError?.self)
        // One serial queue for everything that is written. While a line waits for a slow reader the
        // queue fills, and then the client stops reading: nothing is lost on the way.
        let queue = DispatchQueue(label: "fanfare.listen")
        client.bind(on: queue) { event in
            if let line = ProtocolLine.text(event) { Standard.report(line) }
            guard !ProtocolLine.isOfTheConnection(event) else { return }
            guard !remaining.isOver else { return }
            Standard.print(form.text(event, at: Date()))
            if remaining.step() { ending.yield(nil) }
        }
        client.onError(on: queue) { Standard.report("\($0)") }
        client.onStatusChange(on: queue) { _, status in
            if let line = StatusLine.text(status, endpoint: endpoint) { Standard.report(line) }
            if case .failed(let error) = status { ending.yield(error) }
        }
        let own = user.id.map { [FanfareAPI.channel(ofUser: $0)] } ?? []
        for channel in own + channels { client.subscribe(channel) }
        client.connect()
        for await error in endings {
            client.disconnect()
            if let error { throw Refusal("\(error)") }
            return
        }
    }

    private var clientOptions: ClientOptions {
        var options = ClientOptions()
        options.trust =
            broker.insecure ? .insecure : broker.trust.map { .file($0) } ?? .system
        options.signer = user.signer(key: app.key)
        return options
    }
}
