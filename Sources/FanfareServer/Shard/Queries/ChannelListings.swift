import Broker
import HTTPServer
import Net
import PusherProtocol

/// The lists of channels that a shard assembles, and the portions of them that other shards ask it for.
///
/// Both take time in proportion to the number of channels, so each turn does one portion: events never wait for more than
/// one. Lists take turns.
final class ChannelListings {
    /// Channels that a turn takes from the tables, and channels that it merges into answers.
    static var portionMax: Int { 512 }
    /// Lists that are put together at the same time; others wait, so that memory holds no more than so many answers.
    private static var openMax: Int { 8 }

    private let context: ShardContext
    private let channels: ChannelService
    private var open: [ListingID: ChannelListing] = [:]
    private var last: ListingID = 0
    private var waiting: [ChannelListing] = []
    /// The lists that have something to merge, each once.
    private var ready: [ListingID] = []
    private var requests: [Request] = []

    init(_ context: ShardContext, _ channels: ChannelService) {
        self.context = context
        self.channels = channels
    }

    /// What another shard, or this one, asks for of the channels whose home is here.
    private struct Request {
        var range: ChannelRange
        var listing: ListingID
        var asker: Int
    }

    /// The lists that are not answered.
    var count: Int { open.count + waiting.count }

    /// Whether there is something to do now.
    var areReady: Bool { !requests.isEmpty || !ready.isEmpty }

    /// Answers a query of an app's occupied channels, in the order of their names.
    func list(_ query: ChannelsQuery, of app: AppID, _ exchange: HTTPExchange) {
        waiting.append(
            ChannelListing(
                query,
                of: app,
                homeCount: context.shardCount,
                lengthMax: context.settings.streamLimits.queuedBytesMax,
                for: exchange
            )
        )
        beginWaiting()
    }

    /// Begins the next lists, as many as may be assembled at the same time.
    private func beginWaiting() {
        while open.count < Self.openMax, !waiting.isEmpty {
            last += 1
            open[last] = waiting.removeFirst()
            ask(for: last)
        }
    }

    /// Processes a message of another shard, or of this one.
    func receive(_ message: ListingMessage) {
        switch message {
        case .ask(let range, let listing, let asker):
            requests.append(Request(range: range, listing: listing, asker: asker))
        case .portion(let portion, let listing, let home):
            // The list may have ended because the backend has closed the connection.
            open[listing]?.receive(portion, from: home)
            schedule(listing)
        }
    }

    /// Does one turn's share of the work.
    func advance() {
        guard areReady else { return }
        var rest = Self.portionMax
        while rest > 0, !requests.isEmpty {
            let request = requests.removeFirst()
            let portion = channels.table.portion(of: request.range)
            // An empty portion takes time, too.
            rest -= portion.entries.count + 16
            let message = ListingMessage.portion(
                portion,
                listing: request.listing,
                home: context.shard
            )
            send(message, to: request.asker)
        }
        rest = Self.portionMax
        while rest > 0, !ready.isEmpty {
            let id = ready.removeFirst()
            guard let listing = open[id] else { continue }
            let (count, progress) = listing.merge(upTo: rest)
            rest -= count + 16
            switch progress {
            case .isOver:
                open[id] = nil
                beginWaiting()
            case .goesOn, .waits: ask(for: id)
            }
        }
    }

    private func ask(for id: ListingID) {
        for (home, range) in open[id]?.takeQuestions(portionMax: Self.portionMax) ?? [] {
            send(.ask(range, listing: id, asker: context.shard), to: home)
        }
        // It may have enough for now; and one whose connection has closed can end.
        schedule(id)
    }

    /// Puts a list behind the others that can be merged, if it can be.
    private func schedule(_ id: ListingID) {
        guard open[id]?.isReady == true, !ready.contains(id) else { return }
        ready.append(id)
    }

    private func send(_ message: ListingMessage, to shard: Int) {
        if shard == context.shard {
            receive(message)
        } else {
            context.links.send(.listing(message), to: shard)
        }
    }
}
