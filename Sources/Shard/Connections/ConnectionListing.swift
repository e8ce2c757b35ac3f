package import Broker
import Net
import Primitives
package import PusherProtocol

/// The filter of a list of connections; `nil` selects all.
package struct ConnectionQuery: Sendable {
    /// The app.
    var app: AppID?
    /// The beginning of the user's identifier.
    var user: String?
    /// The beginning of the socket ID.
    package var socketID: String?
    /// A part of the address.
    var address: String?
    /// A part of the name and version of the client's library.
    var library: String?
    /// A channel that it is subscribed to.
    var channel: ChannelName?
    /// Whether only those with queued data are selected, which read more slowly than they are sent to.
    var isBehind = false
    /// The maximum number of channels to list for each connection.
    package var channelsMax = 0

    package init(
        app: AppID? = nil,
        user: String? = nil,
        socketID: String? = nil,
        address: String? = nil,
        library: String? = nil,
        channel: ChannelName? = nil,
        isBehind: Bool = false,
        channelsMax: Int = 0
    ) {
        self.app = app
        self.user = user
        self.socketID = socketID
        self.address = address
        self.library = library
        self.channel = channel
        self.isBehind = isBehind
        self.channelsMax = channelsMax
    }
}

/// A connection in a list.
package struct ListedConnection: Sendable {
    package var socketID: SocketID
    package var app: AppID
    package var user: UserID?
    /// The address of the client, also behind a trusted proxy; `nil` if it is lost.
    package var address: String?
    /// The name and version of the client's library; empty if it sends none.
    package var library: String
    package var isSecure: Bool
    package var subscriptionCount: Int
    /// The names of some channels, in no particular order.
    package var channels: [String]
    /// Bytes that the kernel has not accepted.
    package var queuedByteCount: Int
    /// The round-trip time as TCP measures it.
    package var roundTripMicroseconds: Int?
    /// Seconds since something was received.
    package var silence: Int
}

/// A portion of a list: the connections of some pages of a shard's table.
package struct ConnectionPortion: Sendable {
    package var entries: [ListedConnection] = []
    /// The number of matching connections, listed or not.
    package var matchCount = 0
    /// The page to continue with; `nil` at the end.
    package var nextPage: Int?
}

extension Connections {
    /// The number of pages of a portion, of 64 slots each: a few hundred microseconds of work.
    private static var portionPageCount: Int { 32 }

    /// Lists the matching connections of some pages, beginning with `page`, without those of the console itself.
    ///
    /// Above `limit` entries, the others are only counted.
    package func portion(of query: ConnectionQuery, from page: Int, limit: Int) -> ConnectionPortion
    {
        var portion = ConnectionPortion()
        let pages = pageNumbers
        let end = min(pages.upperBound, page + Self.portionPageCount)
        for page in page..<max(page, end) {
            forEachConnection(ofPage: page) { connection, silence in
                guard fits(connection, query) else { return }
                portion.matchCount += 1
                guard portion.entries.count < limit else { return }
                portion.entries.append(describe(connection, query, silence: silence))
            }
        }
        portion.nextPage = end < pages.upperBound ? end : nil
        return portion
    }

    private func fits(_ connection: Connection, _ query: ConnectionQuery) -> Bool {
        guard !connection.isClosing, connection.app !== context.registry.consoleApp else {
            return false
        }
        if let app = query.app, connection.app.id != app { return false }
        if query.isBehind, connection.stream.queuedByteCount == 0 { return false }
        if let channel = query.channel, !connection.session.subscriptions.contains(channel) {
            return false
        }
        if let prefix = query.user,
            connection.user?.text.utf8.starts(with: prefix.utf8) != true
        {
            return false
        }
        if let prefix = query.socketID,
            !"\(connection.socketID)".utf8.starts(with: prefix.utf8)
        {
            return false
        }
        if let part = query.library, !library(of: connection).contains(bytesOf: part) {
            return false
        }
        if let part = query.address, address(of: connection)?.contains(bytesOf: part) != true {
            return false
        }
        return true
    }

    private func library(of connection: Connection) -> String {
        context.clientNames[connection.clientName]
    }

    private func describe(
        _ connection: Connection,
        _ query: ConnectionQuery,
        silence: Int
    ) -> ListedConnection {
        var channels: [String] = []
        var iterator = connection.session.subscriptions.makeIterator()
        while channels.count < query.channelsMax, let channel = iterator.next() {
            channels.append(channel.text)
        }
        return ListedConnection(
            socketID: connection.socketID,
            app: connection.app.id,
            user: connection.user,
            address: address(of: connection),
            library: library(of: connection),
            isSecure: connection.stream.isSecure,
            subscriptionCount: connection.session.subscriptions.count,
            channels: channels,
            queuedByteCount: connection.stream.queuedByteCount,
            roundTripMicroseconds: connection.stream.roundTripMicroseconds(),
            silence: silence
        )
    }
}
