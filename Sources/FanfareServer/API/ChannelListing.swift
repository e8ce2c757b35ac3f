import Broker
import HTTP1
import HTTPServer
import PusherProtocol

/// The answer to one `GET /apps/{id}/channels`, put together from what the homes of channels send of theirs.
///
/// Each home sends its channels in the order of their names, some hundreds at a time; here they are merged and encoded, as
/// many at a time. A channel that is occupied all the while is listed once, wherever the others come and go.
final class ChannelListing {
    /// What is left to do.
    enum Progress {
        /// A home has to send its next channels first.
        case waits
        /// More can be merged at once.
        case goesOn
        /// It is answered, or nobody waits for the answer.
        case isOver
    }

    /// What one home has sent, and what it has been asked for.
    private struct Source {
        var entries: [ChannelPortion.Entry] = []
        /// The first entry that is not merged.
        var position = 0
        /// The last name that it has sent.
        var cursor: String
        var isAwaited = false
        /// Whether it has no others than the entries.
        var isComplete = false
        var occupiedCount = 0

        var restCount: Int { entries.count - position }
    }

    private let app: AppID
    private let query: ChannelsQuery
    private let exchange: HTTPExchange
    /// The most channels in the answer.
    private let countMax: Int
    /// The longest answer, in bytes.
    private let lengthMax: Int
    private var sources: [Source]
    private var list = APIAnswer.ChannelList()
    /// How many channels are merged.
    private var count = 0
    private var last = ""

    /// Makes the list of `query`, of which `homeCount` homes have a part each.
    init(
        _ query: ChannelsQuery,
        of app: AppID,
        homeCount: Int,
        lengthMax: Int,
        for exchange: HTTPExchange
    ) {
        self.app = app
        self.query = query
        self.exchange = exchange
        // Half of all numbers, so that a greater one can be added to.
        countMax = min(query.limit ?? .max, .max / 2)
        self.lengthMax = lengthMax
        sources = Array(repeating: Source(cursor: query.cursor), count: homeCount)
    }

    /// Whether ``merge(upTo:)`` would merge something, or end the list.
    var isReady: Bool {
        !exchange.isOpen || sources.allSatisfy { $0.restCount > 0 || $0.isComplete }
    }

    /// What is to be asked of homes now; each is asked before all that it has sent is merged.
    ///
    /// - Parameter portionMax: How many channels may be wanted of one home, more than one.
    /// - Returns: The homes, each with what is wanted of it.
    func takeQuestions(portionMax: Int) -> [(home: Int, ChannelRange)] {
        guard exchange.isOpen else { return [] }
        // One more than may be listed shows whether there are others.
        let wanted = countMax - count + 1
        return sources.indices.compactMap { home in
            let source = sources[home]
            guard !source.isAwaited, !source.isComplete, source.restCount < portionMax / 2,
                source.restCount < wanted
            else { return nil }
            sources[home].isAwaited = true
            let range = ChannelRange(
                app: app,
                prefix: query.prefix,
                cursor: source.cursor,
                info: query.info,
                limit: min(portionMax, wanted - source.restCount)
            )
            return (home, range)
        }
    }

    /// Takes what a home has sent.
    func receive(_ portion: ChannelPortion, from home: Int) {
        sources[home].entries.removeFirst(sources[home].position)
        sources[home].position = 0
        sources[home].entries += portion.entries
        sources[home].isAwaited = false
        sources[home].isComplete = portion.isComplete
        sources[home].occupiedCount = portion.occupiedCount
        if let last = portion.entries.last { sources[home].cursor = last.name.text }
    }

    /// Merges and encodes channels, and answers when there are no others.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: How many were merged, and what is left to do.
    func merge(upTo limit: Int) -> (count: Int, Progress) {
        guard exchange.isOpen else { return (0, .isOver) }
        let start = count
        while isReady {
            guard let home = homeOfNext() else { return (count - start, end(nextCursor: nil)) }
            guard count < countMax else { return (count - start, end(nextCursor: last)) }
            guard count - start < limit else {
                if start == 0 { reserveMemory() }
                return (count - start, .goesOn)
            }
            append(sources[home].entries[sources[home].position])
            sources[home].position += 1
            guard list.length <= lengthMax else { return (count - start, refuse()) }
        }
        return (count - start, .waits)
    }

    /// The home that has the first of the names that are not merged; `nil` if there are none.
    private func homeOfNext() -> Int? {
        var first: (home: Int, name: String)?
        for (home, source) in sources.enumerated() where source.restCount > 0 {
            let name = source.entries[source.position].name.text
            if first.map({ name < $0.name }) ?? true { first = (home, name) }
        }
        return first?.home
    }

    private func append(_ entry: ChannelPortion.Entry) {
        let info = query.info.applying(to: entry.name.kind)
        let attributes = ChannelAttributes(
            userCount: info.contains(.userCount) ? entry.userCount : nil,
            subscriptionCount: info.contains(.subscriptionCount) ? entry.subscriptionCount : nil
        )
        list.append(entry.name, attributes)
        count += 1
        last = entry.name.text
    }

    /// Reserves memory for all channels when the first are encoded: a list of megabytes is not copied as it grows.
    private func reserveMemory() {
        let occupiedCount = sources.reduce(0) { $0 + $1.occupiedCount }
        let expectedCount = min(countMax, occupiedCount)
        guard expectedCount > count else { return }
        let expectedLength = list.length / count * (expectedCount + expectedCount / 8)
        list.reserveCapacity(min(expectedLength, lengthMax))
    }

    private func end(nextCursor: String?) -> Progress {
        let body = Swift.exchange(&list, with: APIAnswer.ChannelList()).end(nextCursor: nextCursor)
        exchange.respond(.json(body))
        return .isOver
    }

    private func refuse() -> Progress {
        let error = APIError(
            status: 400,
            message: "The list of channels is longer than \(lengthMax) bytes "
                + "(limits.queued_bytes_max): ask for it in parts, with limit and cursor"
        )
        exchange.respond(Response(refusal: error))
        return .isOver
    }
}
