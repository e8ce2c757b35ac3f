import Primitives
import PusherProtocol

/// The sessions of one app whose home is one shard; see ``SessionHome``.
struct AppSessions: Sendable {
    var sessions = SessionTable()
    /// When a session was last forgotten before its time.
    private(set) var lastEviction: Int64?
    /// The sessions that were forgotten after their time, and when.
    private(set) var forgotten: [SessionKey: Int64] = [:]
    /// The parked sessions in the order in which they were parked; some are no longer, or again.
    private var parkings = Queue<(key: SessionKey, time: Int64)>()
    private var forgettings = Queue<(key: SessionKey, time: Int64)>()

    /// Whether nothing is known of any session, nor has to be.
    var isEmpty: Bool { sessions.isEmpty && forgotten.isEmpty && lastEviction == nil }

    /// Called when a session is parked or shared.
    mutating func park(_ key: SessionKey, at now: Int64) {
        parkings.append((key, now))
        guard parkings.count > 2 * sessions.count + 64 else { return }
        parkings = Queue(parkings.elements.filter { sessions[$0.key]?.parkedSince == $0.time })
    }

    /// Forgets the session that has been parked longest, and returns its key; `nil` if none is parked.
    mutating func evictLongestParked() -> SessionKey? {
        while let (key, since) = parkings.first {
            parkings.removeFirst()
            guard sessions[key]?.parkedSince == since else { continue }
            sessions[key] = nil
            return key
        }
        return nil
    }

    /// Called when a session is forgotten before its time.
    mutating func evicted(at time: Int64) { lastEviction = max(lastEviction ?? time, time) }

    /// Remembers that a session was forgotten after its time.
    mutating func forget(_ key: SessionKey, at now: Int64) {
        forgotten[key] = now
        forgettings.append((key, now))
    }

    /// Forgets the sessions that have been parked for `ageMax` milliseconds.
    ///
    /// - Returns: The keys of the sessions.
    mutating func removeExpired(at moment: SessionHome.Moment, ageMax: Int64) -> [SessionKey] {
        var keys: [SessionKey] = []
        while let (key, since) = parkings.first, moment.now - since >= ageMax {
            parkings.removeFirst()
            guard sessions[key]?.parkedSince == since else { continue }
            sessions[key] = nil
            forget(key, at: moment.now)
            keys.append(key)
        }
        // By then the age of a token alone says as much.
        if let last = lastEviction, moment.now - last > SessionHome.clockTolerance + ageMax {
            lastEviction = nil
        }
        return keys
    }

    /// Removes what is remembered of sessions that were forgotten up to a time.
    ///
    /// - Returns: When the last of them was forgotten; `nil` for none.
    mutating func removeForgotten(before end: Int64) -> Int64? {
        var last: Int64?
        while let (key, since) = forgettings.first, since <= end {
            forgettings.removeFirst()
            last = since
            if forgotten[key] == since { forgotten[key] = nil }
        }
        return last
    }
}

extension SessionHome {
    /// The owner of a session.
    struct Owner: Sendable {
        let socketID: SocketID
        let openedAt: Int64

        init(_ claim: SessionClaim) {
            socketID = claim.socketID
            openedAt = claim.openedAt
        }
    }

    /// One session.
    struct Session: Sendable {
        enum State: Sendable {
            /// No connection uses it.
            case parked(since: Int64, [SessionCursor])
            case owned(Owner)
            /// The cursors of the former owner are awaited.
            indirect case yielding(from: SocketID, to: Owner)
            /// Two living clients use it: it resumes nothing.
            case shared(since: Int64)
        }

        // The order saves padding.
        var state = State.parked(since: 0, [])
        /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
        var mayLackCursors: Bool
        /// Whether the client has answered a `pusher:ping`.
        var answersPings = false

        private var earlierSocketIDs: [SocketID] = []
        /// The last socket ID; most clients have had only one.
        private var lastSocketID: SocketID?

        init(mayLackCursors: Bool) { self.mayLackCursors = mayLackCursors }

        /// When it was parked or last shared; `nil` while it has an owner.
        var parkedSince: Int64? {
            switch state {
            case .parked(let since, _), .shared(let since): since
            case .owned, .yielding: nil
            }
        }

        mutating func own(_ claim: SessionClaim) {
            remember(claim.socketID)
            state = .owned(Owner(claim))
        }

        /// Takes what an owner hands over besides its cursors.
        mutating func take(_ handover: SessionHandover) {
            mayLackCursors = handover.mayLackCursors
            answersPings = handover.answersPings
        }

        /// The last socket IDs of the client, the owner's last.
        var socketIDs: [SocketID] {
            get { earlierSocketIDs + (lastSocketID.map { [$0] } ?? []) }
            set {
                lastSocketID = newValue.last
                earlierSocketIDs = newValue.suffix(SessionHome.socketIDCountMax).dropLast()
            }
        }

        mutating func remember(_ socketID: SocketID) { socketIDs.append(socketID) }

        /// What the next owner begins with.
        func resumption(_ cursors: [SessionCursor]) -> SessionResumption {
            SessionResumption(
                cursors,
                formerSocketIDs: socketIDs,
                mayLackCursors: mayLackCursors,
                answersPings: answersPings
            )
        }
    }
}
