import PusherProtocol

@testable import Broker

/// The home of sessions, as a class, because `#expect` takes no mutating calls.
///
/// Times are in seconds; the broker starts at 0 of its steady clock, which is `epoch` of the calendar.
final class SessionHomeModel {
    static let epoch: Int64 = 1_000_000
    var home: SessionHome
    var settings = RecoverySettings { $0.sessionsMax = 10 }
    let app = AppID("1")
    /// By how much the calendar was set, in seconds.
    var step: Int64 = 0

    init(isFirst: Bool = true, shards: Int = 1) {
        home = SessionHome(shardCount: shards, start: isFirst ? nil : Self.epoch * 1_000)
    }

    func moment(_ now: Int64) -> SessionHome.Moment {
        SessionHome.Moment(now: now * 1_000, calendar: (Self.epoch + now + step) * 1_000)
    }

    func address(_ key: UInt64) -> SessionAddress {
        SessionAddress(app: app, key: SessionKey(high: 0, low: key))
    }

    /// Claims a session whose token was created at `created`, by a connection that was opened at `now`.
    func claim(
        _ connection: UInt64,
        key: UInt64 = 1,
        created: Int64? = nil,
        opened: Int64? = nil,
        from addressDigest: UInt32 = 0,
        at now: Int64 = 0
    ) -> [SessionHome.Effect] {
        var claim = SessionClaim(
            address(key),
            createdAt: (Self.epoch + (created ?? now)) * 1_000,
            socketID: SocketID(connection, 0),
            openedAt: (opened ?? now) * 1_000_000_000
        )
        claim.addressDigest = addressDigest
        return home.claim(claim, settings, at: moment(now))
    }

    @discardableResult
    func handOver(
        _ connection: UInt64,
        key: UInt64 = 1,
        serial: UInt64 = 1,
        mayLackCursors: Bool = false,
        at now: Int64 = 0
    ) throws -> [SessionHome.Effect] {
        home.receive(
            SessionHandover(
                address(key),
                from: SocketID(connection, 0),
                [try cursor(serial)],
                mayLackCursors: mayLackCursors
            ),
            at: now * 1_000
        )
    }

    func isAlive(_ connection: UInt64, at now: Int64 = 0) -> [SessionHome.Effect] {
        home.isAlive(SocketID(connection, 0), address(1), at: now * 1_000)
    }

    func cursor(_ serial: UInt64) throws -> SessionCursor {
        SessionCursor(
            try ChannelName("a"),
            ChannelPosition(stream: StreamID(bits: 1), serial: serial)
        )
    }

    /// Begins with the sessions of an earlier run.
    func restore(_ stored: StoredSessions, on shard: Int = 0, at now: Int64) {
        home.restore(stored, on: shard, at: moment(now)) { [settings] in
            $0 == AppID("1") ? settings.sessionsMax : nil
        }
    }

    /// The changes since the last call as text: the sessions that are kept or removed.
    func changes(at now: Int64, upTo countMax: Int = .max) -> [String] {
        home.takeChanges(upTo: min(countMax, home.changeCount), at: moment(now))
            .map { change in
                switch change {
                case .keep(let session):
                    "keep \(session.address.key.low) \(session.state)"
                        + session.cursors.map { " \($0.position.serial)" }.joined()
                case .remove(let address): "remove \(address.key.low)"
                }
            }
            .sorted()
    }

    func expire(at now: Int64) {
        home.removeExpired(at: moment(now)) { _ in settings.sessionAge }
    }
}

/// The effects as text: who is answered what.
func text(_ effects: [SessionHome.Effect]) -> [String] {
    effects.map { effect in
        switch effect {
        case .answer(.owned(let begin), _, let id):
            "\(id.first) owns" + begin.cursors.map { " \($0.position.serial)" }.joined()
                + (begin.mayLackCursors ? " unknown" : "")
        case .answer(.superseded, _, let id): "\(id.first) superseded"
        case .answer(.shared, _, let id): "\(id.first) answered shared"
        case .answer(.full(_, let mayLackCursors), _, let id):
            "\(id.first) full" + (mayLackCursors ? " unknown" : "")
        case .requestYield(_, let id, let opened): "\(id.first) yields at \(opened / 1_000_000_000)"
        case .tellShared(_, let id): "\(id.first) told shared"
        case .limitMet(let limit, _): "\(limit)"
        }
    }
}
