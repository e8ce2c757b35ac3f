import ArgumentParser
import CommandSupport
import FanfareAPI

/// `fanfare why`: tells what became of a message, for a client or for how many.
struct Why: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show why a client did not get an event, or how many clients got it.",
        discussion: """
            Each event of a channel in use has a serial, which "fanfare history" shows. The broker \
            records which serials a connection has received, if the connection tracks its \
            position. It keeps the records of the last 10,000 closed connections. \
            recovery.connection_records and recovery.connection_records_max in its configuration \
            change both.

            Examples:
              fanfare why news 42
              fanfare why news 42 --socket 27.9132
              fanfare why presence-room 42 --user ann
            """
    )

    @Argument(help: "The channel's name.")
    var channel: String

    @Argument(help: "The event's serial.")
    var serial: UInt64

    @Option(help: ArgumentHelp("The client with this socket ID.", valueName: "id"))
    var socket: String?

    @Option(help: ArgumentHelp("The connections of this user.", valueName: "id"))
    var user: String?

    @OptionGroup var app: AppOptions

    func validate() throws {
        if socket != nil, user != nil {
            throw ValidationError("Give --socket or --user, not both.")
        }
    }

    func run() async throws {
        let subject: MessageDelivery.Subject =
            socket.map { .socket($0) } ?? user.map { .user($0) } ?? .everyone
        do {
            let delivery = try await app.api.delivery(of: serial, on: channel, to: subject)
            for line in DeliveryText(delivery, serial: serial, subject).lines {
                Console.print(line)
            }
        } catch {
            throw CommandError("\(error)")
        }
    }
}
