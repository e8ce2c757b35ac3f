import Broker
import PusherProtocol

/// The answer to one `GET /apps/{id}/channels`, merged from the lists of the homes of channels.
///
/// Each home sends its channels sorted by name, some hundreds at a time; they are merged and encoded in portions of the
/// same size. A channel that stays occupied throughout is listed once, however others change.
final class ChannelListing {
    /// The result of a merge.
    enum Progress {
        /// The next channels of a home have not arrived.
        case isWaiting
        /// More channels can be merged.
        case hasMore
        /// The request is answered, or its connection has closed.
        case isFinished
    }

    /// The channels received from one home, and the state of the requests to it.
    private struct Source {
        var entries: [ChannelPortion.Entry] = []
        /// The index of the first entry that is not merged.
        var position = 0
        /// The last name it has sent.
        var cursor: String
        var isRequested = false
        /// Whether the home has no channels beyond the entries.
        var isComplete = false
        var occupiedCount = 0

        var restCount: Int { entries.count - position }
    }

    private let app: AppID
    private let query: ChannelsQuery
    /// Whether the request can still be answered.
    private let isOpen: () -> Bool
    private let answer: (Result<[UInt8], APIError>) -> Void
    /// The maximum number of channels in the answer.
    private let countMax: Int
    /// The maximum length of the answer, in bytes.
    private let lengthMax: Int
    private var sources: [Source]
    private var list = APIAnswer.ChannelList()
    /// The number of merged channels.
    private var count = 0
    private var last = ""
    /// Whether a home cannot read its channels.
    private var isUnreadable = false

    /// Creates the list of a query, of which `homeCount` homes have a part each.
    init(
        _ query: ChannelsQuery,
        of app: AppID,
        homeCount: Int,
        lengthMax: Int,
        isOpen: @escaping () -> Bool,
        answer: @escaping (Result<[UInt8], APIError>) -> Void
    ) {
        self.app = app
        self.query = query
        (self.isOpen, self.answer) = (isOpen, answer)
        // Leaves room for additions without overflow.
        countMax = min(query.limit ?? .max, .max / 2)
        self.lengthMax = lengthMax
        sources = Array(repeating: Source(cursor: query.cursor), count: homeCount)
    }

    /// Whether ``merge(upTo:)`` would merge a channel or finish the list.
    var isReady: Bool {
        !isOpen() || isUnreadable || sources.allSatisfy { $0.restCount > 0 || $0.isComplete }
    }

    /// Returns the requests to send to homes now; each is sent before everything received from that home is merged.
    ///
    /// - Parameter portionMax: The maximum number of channels of one request; greater than one.
    /// - Returns: The homes, each with its request.
    func nextRequests(portionMax: Int) -> [(home: Int, ChannelRange)] {
        guard isOpen() else { return [] }
        // One more than the limit shows whether there are others.
        let missing = countMax - count + 1
        return sources.indices.compactMap { home in
            let source = sources[home]
            guard !source.isRequested, !source.isComplete, source.restCount < portionMax / 2,
                source.restCount < missing
            else { return nil }
            sources[home].isRequested = true
            let range = ChannelRange(
                app: app,
                prefix: query.prefix,
                cursor: source.cursor,
                info: query.info,
                limit: min(portionMax, missing - source.restCount)
            )
            return (home, range)
        }
    }

    /// Adds the channels that a home has sent.
    func receive(_ portion: ChannelPortion, from home: Int) {
        if portion.failure != nil { isUnreadable = true }
        sources[home].entries.removeFirst(sources[home].position)
        sources[home].position = 0
        sources[home].entries += portion.entries
        sources[home].isRequested = false
        sources[home].isComplete = portion.isComplete
        sources[home].occupiedCount = portion.occupiedCount
        if let last = portion.entries.last { sources[home].cursor = last.name.text }
    }

    /// Merges and encodes channels, and answers the request when there are no more.
    ///
    /// - Parameter limit: The maximum number of channels.
    /// - Returns: The number of merged channels, and the progress.
    func merge(upTo limit: Int) -> (count: Int, Progress) {
        guard isOpen() else { return (0, .isFinished) }
        guard !isUnreadable else {
            answer(.failure(.redisUnreadable))
            return (0, .isFinished)
        }
        let start = count
        while isReady {
            guard let home = homeOfNextName() else { return (count - start, end(nextCursor: nil)) }
            guard count < countMax else { return (count - start, end(nextCursor: last)) }
            guard count - start < limit else {
                if start == 0 { reserveMemory() }
                return (count - start, .hasMore)
            }
            append(sources[home].entries[sources[home].position])
            sources[home].position += 1
            guard list.length <= lengthMax else { return (count - start, refuse()) }
        }
        return (count - start, .isWaiting)
    }

    /// The home with the first name that is not merged; `nil` if there is none.
    private func homeOfNextName() -> Int? {
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

    /// Reserves memory for the expected length once the first channels are encoded: a list of megabytes is not copied
    /// as it grows.
    private func reserveMemory() {
        let occupiedCount = sources.reduce(0) { $0 + $1.occupiedCount }
        let expectedCount = min(countMax, occupiedCount)
        guard expectedCount > count else { return }
        let expectedLength = list.length / count * (expectedCount + expectedCount / 8)
        list.reserveCapacity(min(expectedLength, lengthMax))
    }

    private func end(nextCursor: String?) -> Progress {
        let body = Swift.exchange(&list, with: APIAnswer.ChannelList()).end(nextCursor: nextCursor)
        answer(.success(body))
        return .isFinished
    }

    private func refuse() -> Progress {
        let error = APIError(
            status: 400,
            message: "The list of channels is longer than \(lengthMax) bytes "
                + "(limits.queued_bytes_max): request it in pages, with limit and cursor"
        )
        answer(.failure(error))
        return .isFinished
    }
}
