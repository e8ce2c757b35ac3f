import Broker
import Gateway
import HTTP1
import Logging
import Primitives
import PusherProtocol
import Shard

/// The connections that the console lists and closes.
extension BrokerConsole {
    /// The maximum number of connections in a list; the others are counted.
    static let connectionsMax = 200
    /// The maximum number of channels of one connection in the list, and of a connection on its own.
    private static let channelsMax = (each: 3, single: 500)

    /// The connections that a page asks for, as JSON.
    ///
    /// - Parameter parameters: `app`, `user`, `socket`, `address`, `client` and `channel`, all of which a connection has to fit.
    /// - Returns: The connections, the number of all that fit, and of all there are.
    func connections(_ parameters: QueryParameters) async -> Response {
        func text(_ name: String) -> String? { parameters[name].flatMap { $0.isEmpty ? nil : $0 } }
        var query = ConnectionQuery(
            app: text("app").map { AppID($0) },
            user: text("user"),
            socketID: text("socket"),
            address: text("address"),
            library: text("client"),
            channel: text("channel").flatMap { try? ChannelName($0) },
            isBehind: text("behind") != nil,
            channelsMax: Self.channelsMax.each
        )
        // A whole ID: the page shows that connection alone.
        let isSingle = query.socketID.flatMap(SocketID.init) != nil
        if isSingle { query.channelsMax = Self.channelsMax.single }
        var entries: [ListedConnection] = []
        var (matchCount, total) = (0, -pageCount)
        for shard in shards {
            total += await shard.connectionCount
            var page: Int? = 0
            // In portions, between which the shard serves its clients.
            while let first = page {
                let portion = await shard.connections(
                    of: query,
                    from: first,
                    limit: Self.connectionsMax - entries.count
                )
                entries += portion.entries
                matchCount += portion.matchCount
                page = portion.nextPage
            }
        }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("total")
        writer.integer(max(0, total))
        writer.name("matching")
        writer.integer(matchCount)
        writer.name("connections")
        writer.beginArray()
        for entry in entries { writer.write(entry) }
        writer.endArray()
        writer.endObject()
        return .json(writer.bytes)
    }

    /// Closes the pages of sessions that have ended.
    func closeEndedPages() async {
        for page in sessions?.takeEndedPages() ?? [] {
            for shard in shards where await shard.close(page) { break }
        }
    }

    /// Closes a connection, whose client reconnects at once.
    func close(_ socketID: SocketID, by actor: ConsoleActor) async -> Response {
        for shard in shards where await shard.close(socketID) {
            record("connection closed", ["socket": "\(socketID)"], by: actor)
            return .json(Array("{}".utf8))
        }
        return .text("Connection \(socketID) is no longer open\n", status: 404)
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ connection: ListedConnection) {
        beginObject()
        members([
            ("socket", "\(connection.socketID)"), ("app", connection.app.text),
            ("user", connection.user?.text), ("address", connection.address),
            ("client", connection.library.isEmpty ? nil : connection.library),
        ])
        name("tls")
        boolean(connection.isSecure)
        members([
            ("subscriptions", connection.subscriptionCount),
            ("queued", connection.queuedByteCount),
            ("roundTrip", connection.roundTripMicroseconds), ("silence", connection.silence),
        ])
        name("channels")
        beginArray()
        for channel in connection.channels { string(channel) }
        endArray()
        endObject()
    }
}
