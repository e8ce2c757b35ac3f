import Broker
import Glibc
import PusherProtocol
import Synchronization

/// Collects what happens for the console, while anybody looks.
///
/// Nobody's looking costs nothing: no kind of event is asked for then, so none is created. While somebody looks, each batch
/// holds the first ``recordsMax`` events, and the number of those that it left out.
final class ConsoleFeed: Sendable {
    /// The maximum number of events in a batch.
    static let recordsMax = 50
    /// The maximum length of an event's data that is shown, in characters.
    static let dataLengthMax = 1_024

    /// Whether the data of events is shown.
    let showsData: Bool
    private let app: AppID
    /// The number of events since the last batch, of which at most ``recordsMax`` are in it.
    private let count = Atomic(0)
    private let records = Mutex<[[UInt8]]>([])
    private let isWatchedFlag = Atomic(false)
    private let subscriberHandler = Mutex<@Sendable () -> Void>({})

    /// Creates a feed for the pages that are clients of `app`.
    init(of app: AppID, showsData: Bool) {
        self.app = app
        self.showsData = showsData
    }

    /// Whether events are collected; the observers of the shards have to be read again after a change.
    var isWatched: Bool {
        get { isWatchedFlag.load(ordering: .acquiring) }
        set { isWatchedFlag.store(newValue, ordering: .releasing) }
    }

    /// Called on a shard's thread when a page has subscribed.
    var hasSubscriber: @Sendable () -> Void {
        get { subscriberHandler.withLock { $0 } }
        set { subscriberHandler.withLock { $0 = newValue } }
    }

    /// Returns what has happened since the last call as JSON, `{"records":[…],"omitted":0}`; `nil` for nothing.
    func takeBatch() -> [UInt8]? {
        let records = records.withLock { records in
            defer { records.removeAll(keepingCapacity: true) }
            return records
        }
        let omitted = max(0, count.exchange(0, ordering: .relaxed) - Self.recordsMax)
        guard !records.isEmpty || omitted > 0 else { return nil }
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("records")
        writer.beginArray()
        for record in records { writer.verbatim(record) }
        writer.endArray()
        writer.name("omitted")
        writer.integer(omitted)
        writer.endObject()
        return writer.bytes
    }

    /// Adds a record to the batch, unless it is full; then it is not even written.
    private func add(_ app: AppID?, _ write: (inout ConsoleRecord) -> Void) {
        let place = count.add(1, ordering: .relaxed).newValue
        guard place <= Self.recordsMax else { return }
        var record = ConsoleRecord(of: app)
        write(&record)
        let bytes = record.finish()
        records.withLock { records in
            // Between two counts a full batch may have been taken.
            guard records.count < Self.recordsMax else { return }
            records.append(bytes)
        }
    }
}

extension ConsoleFeed: BrokerObserver {
    func observedKinds(of app: AppID?) -> BrokerEventKinds {
        // By the first subscription, the feed learns that somebody looks.
        if app == self.app { return .subscriptions }
        guard isWatched else { return [] }
        guard app != nil else { return .refusals }
        return [
            .connections, .occupancy, .subscriptions, .members, .published, .clientEvents,
            .refusals,
        ]
    }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard app != self.app else {
            if case .channel(.subscribed, _) = event { hasSubscriber() }
            return
        }
        guard isWatched else { return }
        switch event {
        case .connected(let socketID): add(app) { $0.write("connected", socketID: socketID) }
        case .disconnected(let socketID): add(app) { $0.write("disconnected", socketID: socketID) }
        case .channel(let event, let address):
            add(app) { record in
                record.write(channel: address.name)
                record.write(event, showsData: showsData)
            }
        case .refused(let refusal): add(app) { $0.write(refusal) }
        case .admitted, .frame, .deliveriesDropped, .gapTold, .limitMet: break
        }
    }
}

/// One event for the console as a JSON object, whose text is bounded.
struct ConsoleRecord {
    private var writer = JSONWriter()

    init(of app: AppID?) {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        writer.beginObject()
        writer.name("at")
        writer.integer(time.tv_sec * 1_000 + time.tv_nsec / 1_000_000)
        guard let app else { return }
        writer.name("app")
        writer.string(app.text)
    }

    /// Ends the object and returns its text.
    mutating func finish() -> [UInt8] {
        writer.endObject()
        return writer.bytes
    }

    mutating func write(_ kind: String, socketID: SocketID? = nil, user: UserID? = nil) {
        writer.name("kind")
        writer.string(kind)
        if let socketID {
            writer.name("socket")
            writer.string("\(socketID)")
        }
        if let user {
            writer.name("user")
            writer.string(user.text)
        }
    }

    /// Writes what was refused, without the key that a client has sent, which may be a secret.
    mutating func write(_ refusal: Refusal) {
        write("refused", socketID: refusal.socketID)
        for (name, text) in [
            ("channel", refusal.channel), ("subject", refusal.subject.rawValue),
            ("reason", refusal.reason), ("advice", refusal.advice), ("address", refusal.address),
            ("request", refusal.request),
        ] {
            guard let text else { continue }
            writer.name(name)
            writer.string(String(text.prefix(ConsoleFeed.dataLengthMax)))
        }
        guard let code = refusal.code else { return }
        writer.name("code")
        writer.integer(code)
    }

    mutating func write(channel: ChannelName) {
        writer.name("channel")
        writer.string(channel.text)
    }

    mutating func write(_ event: ChannelEvent, showsData: Bool) {
        switch event {
        case .occupied: write("occupied")
        case .vacated: write("vacated")
        case .subscribed(let socketID, let user):
            write("subscribed", socketID: socketID, user: user)
        case .unsubscribed(let socketID): write("unsubscribed", socketID: socketID)
        case .memberAdded(let user): write("member added", user: user)
        case .memberRemoved(let user): write("member removed", user: user)
        case .published(let publication):
            write("event", socketID: publication.except)
            writer.name("event")
            writer.string(publication.name)
            write(data: publication.data, isShown: showsData)
        case .clientEvent(let event, let sender, let user):
            write("client event", socketID: sender, user: user)
            writer.name("event")
            writer.string(event.name)
            write(data: event.data ?? "", isShown: showsData)
        case .cacheMiss, .cacheFilled, .subscriptionCount: write("notice")
        }
    }

    private mutating func write(data: String, isShown: Bool) {
        writer.name("length")
        writer.integer(data.utf8.count)
        guard isShown else { return }
        writer.name("data")
        writer.string(String(data.prefix(ConsoleFeed.dataLengthMax)))
    }
}
