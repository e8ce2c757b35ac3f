package import Broker
import Net
package import PusherProtocol

/// The lists of channels that a shard assembles, and the portions that other shards request from it.
///
/// Both take time in proportion to the number of channels, so each turn does one portion, and events wait for no more
/// than one. Lists take turns.
package final class ChannelListings {
    /// The maximum number of channels that a turn reads from the tables.
    static var portionMax: Int { 512 }
    /// The maximum number of channels that a turn merges into answers, which takes longer.
    private static var mergedMax: Int { 128 }
    /// The maximum number of lists that are assembled at the same time; others wait, which bounds the memory of
    /// answers.
    private static var openMax: Int { 8 }

    private let context: ShardContext
    private let channels: ChannelService
    private var open: [ListingID: ChannelListing] = [:]
    private var last: ListingID = 0
    private var waiting: [ChannelListing] = []
    /// The lists with something to merge, each once.
    private var ready: [ListingID] = []
    private var requests: [Request] = []

    init(_ context: ShardContext, _ channels: ChannelService) {
        self.context = context
        self.channels = channels
    }

    /// A request of any shard for channels whose home is here.
    private struct Request {
        var range: ChannelRange
        var listing: ListingID
        var asker: Int
    }

    /// The lists that are not answered.
    var count: Int { open.count + waiting.count }

    /// Whether there is work for the next turn.
    var areReady: Bool { !requests.isEmpty || !ready.isEmpty }

    /// Answers a query for an app's occupied channels, sorted by name.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - app: The app.
    ///   - isOpen: Whether an answer can still be sent; if not, the list ends.
    ///   - answer: Sends the list as JSON, or what prevents it.
    package func list(
        _ query: ChannelsQuery,
        of app: AppID,
        isOpen: @escaping () -> Bool,
        answer: @escaping (Result<[UInt8], APIError>) -> Void
    ) {
        waiting.append(
            ChannelListing(
                query,
                of: app,
                homeCount: context.shardCount,
                lengthMax: context.settings.streamLimits.queuedBytesMax,
                isOpen: isOpen,
                answer: answer
            )
        )
        startWaiting()
    }

    /// Starts the next lists, up to the maximum.
    private func startWaiting() {
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
            // The list may have ended because the connection was closed.
            open[listing]?.receive(portion, from: home)
            schedule(listing)
        }
    }

    /// Does one portion of the work.
    func advance() {
        guard areReady else { return }
        var rest = Self.portionMax
        while rest > 0, !requests.isEmpty {
            let request = requests.removeFirst()
            let count = channels.authority.list(request.range) { [self] in answer(request, $0) }
            // An empty portion takes time as well.
            rest -= count + 16
        }
        rest = Self.mergedMax
        while rest > 0, !ready.isEmpty {
            let id = ready.removeFirst()
            guard let listing = open[id] else { continue }
            let (count, progress) = listing.merge(upTo: rest)
            rest -= count + 16
            switch progress {
            case .isFinished:
                open[id] = nil
                startWaiting()
            case .hasMore, .isWaiting: ask(for: id)
            }
        }
    }

    private func answer(_ request: Request, _ portion: ChannelPortion) {
        let message = ListingMessage.portion(
            portion,
            listing: request.listing,
            home: context.shard
        )
        send(message, to: request.asker)
    }

    private func ask(for id: ListingID) {
        for (home, range) in open[id]?.nextRequests(portionMax: Self.portionMax) ?? [] {
            send(.ask(range, listing: id, asker: context.shard), to: home)
        }
        // It may have enough channels already, and a list whose connection has closed can end.
        schedule(id)
    }

    /// Appends a list to those that can be merged, if it can be.
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
