package import Broker
import Digests
package import PusherProtocol
import Synchronization

/// What a trace selects of an app's events; what is `nil` selects all.
package struct TraceFilter: Sendable, Equatable {
    /// The channel's name.
    var channel: String?
    /// The event's name.
    var event: String?
    /// The user.
    package var user: UserID?
    /// The client.
    package var socketID: SocketID?

    package init(channel: String? = nil, event: String? = nil) {
        self.channel = channel
        self.event = event
    }
}

/// Records the events of one app that a filter selects, for a backend that asks for them again and again.
package final class EventTrace: Sendable {
    /// The maximum number of events between two requests.
    static let recordsMax = 500
    /// The number of looks without a request between them after which a trace ends.
    static let idleLooksMax = 6

    /// The identifier, which nobody can guess.
    package let id: String
    /// The app.
    let app: AppID
    private let filter: TraceFilter
    private let records = EventRecords(countMax: EventTrace.recordsMax, showsData: true)
    /// The connections of the filter's user.
    private let connections = Mutex(UserConnections())
    /// The number of looks since the last request.
    private let idleLooks = Atomic(0)

    /// Creates a trace without records.
    init(of app: AppID, _ filter: TraceFilter) {
        id = Hex.random(length: 32)
        self.app = app
        self.filter = filter
    }

    /// Looks whether anybody still asks for the records, every ``EventTraces/interval``.
    ///
    /// Looks are counted instead of time: while the process is paused, nobody can ask.
    ///
    /// - Returns: Whether the trace ends.
    func look() -> Bool { idleLooks.add(1, ordering: .relaxed).newValue >= Self.idleLooksMax }

    /// Returns what has happened since the last call as JSON; see ``EventRecords/takeBatch()``.
    package func takeBatch() -> [UInt8] {
        idleLooks.store(0, ordering: .relaxed)
        return records.takeBatch() ?? EventRecords.emptyBatch
    }

    /// Records an event, if the filter selects it.
    func observe(_ event: BrokerEvent) {
        if selects(event) { records.add(event, of: app) }
    }

    // MARK: - The filter

    private func selects(_ event: BrokerEvent) -> Bool {
        let subject = Subject(event)
        if let channel = filter.channel, subject.channel != channel { return false }
        if let name = filter.event, subject.event != name { return false }
        if let socketID = filter.socketID, subject.socketID != socketID { return false }
        return filter.user.map { isAbout($0, subject, event) } ?? true
    }

    /// Whether an event names the user, or is of one of the user's connections.
    private func isAbout(_ user: UserID, _ subject: Subject, _ event: BrokerEvent) -> Bool {
        guard let socketID = subject.socketID else { return subject.user == user }
        return connections.withLock { connections in
            if case .disconnected = event { return connections.end(socketID) }
            guard subject.user == user else { return connections.contain(socketID) }
            if subject.isBySocket { connections.insert(socketID) }
            return true
        }
    }

    /// The connections of a user, as far as their sign-in or a subscription has been seen.
    private struct UserConnections {
        /// The maximum number of open ones; of others only what names the user is recorded.
        private static let openMax = 1_000
        /// The maximum number of ended ones: the homes of their channels may tell of them a moment later.
        private static let endedMax = 100

        private var ids: Set<SocketID> = []
        private var ended: [SocketID] = []

        func contain(_ id: SocketID) -> Bool { ids.contains(id) }

        mutating func insert(_ id: SocketID) {
            if ids.count - ended.count < Self.openMax { ids.insert(id) }
        }

        /// Returns whether it is one of them.
        mutating func end(_ id: SocketID) -> Bool {
            guard ids.contains(id) else { return false }
            ended.append(id)
            if ended.count > Self.endedMax { ids.remove(ended.removeFirst()) }
            return true
        }
    }

    /// What an event is about.
    private struct Subject {
        var channel: String?
        var event: String?
        var user: UserID?
        var socketID: SocketID?
        /// Whether the connection is the user's own, not one that an event excludes.
        var isBySocket = true

        init(_ event: BrokerEvent) {
            switch event {
            case .connected(let id), .disconnected(let id), .admitted(let id, _): socketID = id
            case .signedIn(let id, let user): (socketID, self.user) = (id, user)
            case .refused(let refusal):
                (channel, socketID) = (refusal.channel, refusal.socketID)
            case .channel(let event, let address):
                channel = address.name.text
                read(event)
                if let own = address.name.userID { user = UserID(own) }
            case .frame, .deliveriesDropped, .gapTold, .limitMet: break
            }
        }

        private mutating func read(_ event: ChannelEvent) {
            switch event {
            case .subscribed(let id, let user): (socketID, self.user) = (id, user)
            case .unsubscribed(let id): socketID = id
            case .memberAdded(let user), .memberRemoved(let user): self.user = user
            case .published(let publication):
                (self.event, socketID) = (publication.name, publication.except)
                isBySocket = false
            case .clientEvent(let event, let sender, let user):
                (self.event, socketID, self.user) = (event.name, sender, user)
            case .occupied, .vacated, .cacheMiss, .cacheFilled, .subscriptionCount: break
            }
        }
    }
}
