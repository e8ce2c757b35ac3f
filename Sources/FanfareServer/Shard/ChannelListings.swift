import Broker
import HTTPServer
import Net
import PusherProtocol

/// The lists of channels that a shard puts together, and what others ask it for as a home.
///
/// Both are work in proportion to all channels, and done in portions, one in each turn: events never wait for more than one.
/// Lists take turns.
struct ChannelListings {
    /// Channels that a turn takes from the tables, and channels that it merges into answers.
    static var portionMax: Int { 512 }
    /// Lists that are put together at the same time; others wait, so that memory holds no more than so many answers.
    private static var openMax: Int { 8 }

    private var open: [ListingID: ChannelListing] = [:]
    private var last: ListingID = 0
    private var waiting: [ChannelListing] = []
    /// The lists that have something to merge, each once.
    private var ready: [ListingID] = []
    private var questions: [ShardQuery] = []

    /// What another shard, or this one, wants of the channels whose home is here.
    fileprivate struct ShardQuery {
        var range: ChannelRange
        var listing: ListingID
        var asker: Int
    }

    /// The lists that are not answered.
    var count: Int { open.count + waiting.count }

    /// Whether there is something to do now.
    var areReady: Bool { !questions.isEmpty || !ready.isEmpty }

    fileprivate subscript(id: ListingID) -> ChannelListing? { open[id] }

    /// Adds a list; it is begun now or when another has ended.
    fileprivate mutating func append(_ listing: ChannelListing) { waiting.append(listing) }

    /// Begins the next list, if there is one and others leave it room.
    fileprivate mutating func beginNext() -> ListingID? {
        guard open.count < Self.openMax, !waiting.isEmpty else { return nil }
        last += 1
        open[last] = waiting.removeFirst()
        return last
    }

    fileprivate mutating func end(_ id: ListingID) { open[id] = nil }

    fileprivate mutating func append(_ question: ShardQuery) { questions.append(question) }

    fileprivate mutating func takeQuestion() -> ShardQuery? {
        questions.isEmpty ? nil : questions.removeFirst()
    }

    /// Has a list merge what it has, behind the others; if it can.
    fileprivate mutating func schedule(_ id: ListingID) {
        guard open[id]?.isReady == true, !ready.contains(id) else { return }
        ready.append(id)
    }

    fileprivate mutating func takeReady() -> ListingID? {
        ready.isEmpty ? nil : ready.removeFirst()
    }
}

extension ShardCore {
    /// Answers a query of an app's occupied channels, in the order of their names.
    func list(_ query: ChannelsQuery, of app: AppID, _ exchange: HTTPExchange) {
        listings.append(
            ChannelListing(
                query,
                of: app,
                homeCount: shardCount,
                lengthMax: settings.streamLimits.queuedBytesMax,
                for: exchange
            )
        )
        beginListings()
    }

    private func beginListings() {
        while let id = listings.beginNext() { ask(for: id) }
    }

    /// Takes in what another shard, or this one, says about a list.
    func receive(_ message: ListingMessage) {
        switch message {
        case .ask(let range, let listing, let asker):
            listings.append(
                ChannelListings.ShardQuery(range: range, listing: listing, asker: asker)
            )
        case .portion(let portion, let listing, let home):
            // A list that nobody waits for any more has ended.
            listings[listing]?.receive(portion, from: home)
            listings.schedule(listing)
        }
    }

    /// Does this turn's share of all lists.
    func advanceListings() {
        guard listings.areReady else { return }
        var rest = ChannelListings.portionMax
        while rest > 0, let question = listings.takeQuestion() {
            let portion = channels.portion(of: question.range)
            // Even nothing takes its time to be found.
            rest -= portion.entries.count + 16
            let message = ListingMessage.portion(
                portion,
                listing: question.listing,
                home: links.shard
            )
            send(.listing(message), to: question.asker)
        }
        rest = ChannelListings.portionMax
        while rest > 0, let id = listings.takeReady(), let listing = listings[id] {
            let (count, progress) = listing.merge(upTo: rest)
            rest -= count + 16
            switch progress {
            case .isOver:
                listings.end(id)
                beginListings()
            case .goesOn, .waits: ask(for: id)
            }
        }
    }

    private func ask(for id: ListingID) {
        let questions = listings[id]?.takeQuestions(portionMax: ChannelListings.portionMax) ?? []
        for (home, range) in questions {
            send(.listing(.ask(range, listing: id, asker: links.shard)), to: home)
        }
        // What it has may do for now; and one that nobody waits for is ready to end.
        listings.schedule(id)
    }
}
