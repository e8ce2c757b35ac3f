import PusherProtocol

/// A device with a session token, over all of its connections: what its app has processed, and must get.
final class Device {
    /// The kind of its client.
    enum Kind {
        /// Between socket and handlers messages wait for the page's thread; the network layer answers ping frames at
        /// once. The page answers `pusher:ping`. A close drops what waits.
        case page
        /// The client ignores `pusher:ping` and answers ping frames; messages reach the app as they are read.
        case native
    }

    /// What the device knows of a channel that it has subscribed to.
    struct Book {
        /// The step since which nothing may be missing.
        var beganAt: Int
        /// The events that were processed, and those that the broker certainly knows to be confirmed.
        var received: Set<Int> = []
        var certain: Set<Int> = []
        /// When a gap was processed that is not certainly confirmed: it may be told again.
        var gapMark: Int?
        /// When everything was last confirmed.
        var certainAt: Int
        /// Whether a cached event has to be processed.
        var lacksOpening = false
        /// Whether a gap has to be told, since the session is certainly unknown.
        var lacksGap = false
    }

    let number: Int
    let kind: Kind
    let token: String
    /// How far the device's clock is ahead, in milliseconds.
    let skew: Int
    /// When the token was made.
    let createdAt: Int
    var books: [Int: Book] = [:]
    /// When it first subscribed to each channel: from then on the broker may have a cursor, whatever was processed of its
    /// answers, and whether or not a later unsubscription has arrived.
    var firstAskedAt: [Int: Int] = [:]
    var connection: DeviceConnection?
    /// The socket IDs that have subscribed, and whether that was acknowledged.
    var socketIDs: [(id: String, isCertain: Bool)] = []
    /// The device that has the same token: the page was duplicated.
    weak var twin: Device?
    /// When the session certainly had an owner or was parked by one.
    var contactAt: Int
    /// Whether the broker has certainly known the session.
    var isKnown = false
    /// Whether the broker may have found the session unknown, and whether it certainly has: each channel that the device
    /// begins is told so, for as long as the session lives.
    var mayBeUnknown = false
    var isCertainlyUnknown = false
    /// Whether a session that was forgotten may have been taken for new: the device's clock is more than two minutes ahead.
    var isBeyondPromise = false
    /// When the connection was opened that was last told that another device uses the token: the session has been shared for
    /// less long.
    var sharedAt: Int?
    /// When the device first read so, in the present sharing: what was decided before may still be on its way.
    var toldSharedAt: Int?

    init(number: Int, kind: Kind, token: String, skew: Int, at now: Int) {
        self.number = number
        self.kind = kind
        self.token = token
        self.skew = skew
        createdAt = now
        contactAt = now
    }

    var name: String { "device \(number)" }

    func broken(_ invariant: Invariant, _ text: String) -> Violation {
        Violation(invariant, "\(name) \(text)")
    }

    /// Whether another device uses the token, or has used it.
    var sharesToken: Bool { twin?.socketIDs.isEmpty == false }

    /// Whether an event excludes one of the connections that have used the token.
    func isExcluded(from event: SessionEvent) -> Bool {
        guard let id = event.excluded else { return false }
        return (socketIDs + (twin?.socketIDs ?? [])).contains { $0.id == id }
    }

    /// Whether the broker must know that an event excludes the device.
    func isCertainlyExcluded(from event: SessionEvent) -> Bool {
        socketIDs.suffix(4).contains { $0.isCertain && $0.id == event.excluded }
    }
}

/// One connection of a device.
final class DeviceConnection {
    let transport: SimulatedClient
    let connectedAt: Int
    var socketID: String?
    /// The messages that the page has not processed.
    var waiting: [SimulatedClient.ReceivedFrame] = []
    /// Whether the page's thread is busy.
    var isBlocked = false {
        didSet { if !oldValue { blockedAt = nil } }
    }
    /// When the page's thread became busy, as first seen.
    var blockedAt: Int?
    /// Whether nothing gets through in either direction.
    var isDead = false
    /// Whether the device reads nothing from its socket, so that the broker's queue grows.
    var isStalled = false
    /// Whether the device has given the connection up.
    var isAbandoned = false
    /// Whether a subscription was granted, and so the session claimed.
    var hasClaimed = false
    var claimedAt = 0
    /// Whether the device was told that another one uses its token.
    var isShared = false
    /// The channels on which a gap was told.
    var gaps: Set<Int> = []
    /// The subscriptions that are requested (false) and granted (true).
    var subscriptions: [Int: Bool] = [:]
    /// The channels of which the last number was seen, for the order within the connection.
    var lastSerial: [Int: UInt64] = [:]
    /// The number of events of a replay that have not been processed; unknown on an encrypted channel.
    var replayCounts: [Int: Int] = [:]
    /// The refusals that are due, by channel.
    var refusals: [Int: Int] = [:]
    /// The number of events that were processed.
    var eventCount = 0
    /// What is confirmed by the last answered `pusher:ping`.
    var answered: [Int: Set<Int>] = [:]
    var answeredMark = 0
    /// Whether the broker has too many sessions to keep positions for it.
    var isWithoutRecovery = false
    /// The unsubscriptions whose pong is awaited: until then messages may come.
    var leaving: [Int] = []
    /// What the device knew of the channels that it has left, and when it left them.
    var left: [Int: (book: Device.Book, time: Int)] = [:]

    init(_ transport: SimulatedClient, at now: Int) {
        self.transport = transport
        connectedAt = now
    }
}

/// An event that a backend has published.
struct SessionEvent {
    let id: Int
    let channel: Int
    let step: Int
    let time: Int
    let excluded: String?
    /// The length of its data, in bytes.
    var length = 0
    var isAccepted = false
}
