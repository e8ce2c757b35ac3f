import Primitives
import PusherProtocol

/// The sessions of one app whose home is one shard; see ``SessionHome``.
struct AppSessions: Sendable {
    private(set) var sessions = SessionTable()
    /// The size of the cursors of parked sessions, and of those of each address.
    private(set) var byteCount = 0
    private var uses: [UInt32: Use] = [:]
    /// The maximum of ``byteCount``; once half is used, one address may have at most a quarter.
    var byteCountMax = Int.max

    /// The number and size of what the clients of one address have.
    private struct Use {
        var sessionCount = 0
        var byteCount = 0
    }

    /// When a session was last forgotten before it expired.
    private(set) var lastEviction: Int64?
    /// The expired sessions, and when each was forgotten.
    private(set) var forgotten: [SessionKey: Int64] = [:]
    /// The parked sessions in the order in which they were parked; some entries are outdated.
    private var parkings = Queue<(key: SessionKey, time: Int64)>()
    private var forgettings = Queue<(key: SessionKey, time: Int64)>()

    /// Whether no session is known, and no forgotten one has to be remembered.
    var isEmpty: Bool { sessions.isEmpty && forgotten.isEmpty && lastEviction == nil }

    /// The session with a key; `nil` if there is none.
    subscript(key: SessionKey) -> SessionHome.Session? {
        get { sessions[key] }
        set {
            if let former = sessions[key] { count(former, -1) }
            if let newValue { count(newValue, 1) }
            sessions[key] = newValue
        }
    }

    private mutating func count(_ session: SessionHome.Session, _ sign: Int) {
        let size = session.parkedByteCount
        byteCount += sign * size
        guard session.addressDigest != 0 else { return }
        var use = uses[session.addressDigest] ?? Use()
        use.sessionCount += sign
        use.byteCount += sign * size
        uses[session.addressDigest] = use.sessionCount == 0 ? nil : use
    }

    /// Whether the cursors of a session, of a size in bytes, may be kept while it has no connection.
    ///
    /// The digest is 0 if the client's address is not known.
    func mayPark(_ size: Int, of addressDigest: UInt32) -> Bool {
        guard size <= byteCountMax - byteCount else { return false }
        guard addressDigest != 0, byteCount + size > byteCountMax / 2 else { return true }
        return (uses[addressDigest]?.byteCount ?? 0) + size <= byteCountMax / 4
    }

    /// Stores a session that is parked or shared since `now`, and expires from then on.
    mutating func park(_ session: SessionHome.Session, _ key: SessionKey, at now: Int64) {
        self[key] = session
        parkings.append((key, now))
        guard parkings.count > 2 * sessions.count + 64 else { return }
        parkings = parkings.filter { sessions[$0.key]?.parkedSince == $0.time }
    }

    /// Forgets the session that has been parked longest, and returns its key; `nil` if none is parked.
    mutating func evictLongestParked() -> SessionKey? {
        while let (key, since) = parkings.first {
            parkings.removeFirst()
            guard self[key]?.parkedSince == since else { continue }
            self[key] = nil
            return key
        }
        return nil
    }

    /// Forgets a session so that a client of an address can have one, and returns its key; `nil` if none may be
    /// forgotten.
    ///
    /// If an address has a quarter of all sessions, no session of another address is forgotten for it.
    mutating func evict(for addressDigest: UInt32, sessionsMax: Int) -> SessionKey? {
        guard let count = uses[addressDigest]?.sessionCount, count >= max(1, sessionsMax / 4) else {
            return evictLongestParked()
        }
        // The address's own sessions are near the head, unless other clients are offline, too.
        let own = parkings.elements.prefix(64)
            .first { key, time in
                self[key]?.addressDigest == addressDigest && self[key]?.parkedSince == time
            }
        if let own { self[own.key] = nil }
        return own?.key
    }

    /// Called when a session is forgotten before it expired.
    mutating func evicted(at time: Int64) { lastEviction = max(lastEviction ?? time, time) }

    /// Remembers that a session has expired.
    mutating func forget(_ key: SessionKey, at now: Int64) {
        forgotten[key] = now
        forgettings.append((key, now))
    }

    /// Forgets the sessions that have been parked for `ageMax` milliseconds, and returns their keys.
    mutating func removeExpired(at moment: SessionHome.Moment, ageMax: Int64) -> [SessionKey] {
        var keys: [SessionKey] = []
        while let (key, since) = parkings.first, moment.now - since >= ageMax {
            parkings.removeFirst()
            guard self[key]?.parkedSince == since else { continue }
            self[key] = nil
            forget(key, at: moment.now)
            keys.append(key)
        }
        // After that time the age of a token is sufficient evidence.
        if let last = lastEviction, moment.now - last > SessionClaim.clockTolerance + ageMax {
            lastEviction = nil
        }
        return keys
    }

    /// Removes the record of sessions that were forgotten up to a time.
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
            /// Two connected clients use it, so it resumes nothing.
            case shared(since: Int64)
        }

        // The order saves padding.
        var state = State.parked(since: 0, [])
        /// Whether cursors may have been forgotten; see ``SessionResumption/mayLackCursors``.
        var mayLackCursors: Bool
        /// Whether the client has answered a `pusher:ping`.
        var answersPings = false

        /// A digest of the address of its last owner; 0 if it is not known.
        private(set) var addressDigest: UInt32 = 0

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

        /// The size of the cursors while no connection uses it, in bytes.
        var parkedByteCount: Int {
            guard case .parked(_, let cursors) = state else { return 0 }
            return cursors.reduce(0) { $0 + $1.byteCount }
        }

        mutating func own(_ claim: SessionClaim) {
            remember(claim.socketID)
            addressDigest = claim.addressDigest
            state = .owned(Owner(claim))
        }

        /// Stores what an owner hands over besides its cursors.
        mutating func take(_ handover: SessionHandover) {
            mayLackCursors = handover.mayLackCursors
            answersPings = handover.answersPings
        }

        /// The last socket IDs of the client, the owner's last.
        var socketIDs: [SocketID] {
            get { earlierSocketIDs + (lastSocketID.map { [$0] } ?? []) }
            set {
                lastSocketID = newValue.last
                earlierSocketIDs = newValue.suffix(SessionResumption.socketIDCountMax).dropLast()
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
