import PusherProtocol

/// How far a client with a session token has confirmed each of its channels: the bookkeeping of one connection.
///
/// The broker writes a ping behind what it has handed over, notes the marks, and takes the pong for their confirmation.
/// All times are milliseconds of one steady clock.
struct TokenCursors: Sendable {
    /// The subscription to one channel.
    private struct Cursor {
        let stream: StreamID
        var confirmed: UInt64
        /// The serial up to which messages were handed over, as last seen.
        var handed: UInt64
        /// The serial at the outstanding ping.
        var asked: UInt64 = 0
        /// The serial at a pong frame that does not count yet.
        var pending: UInt64 = 0
        var flags: Flags = []
        /// At most one element: few cursors have any, and an empty array allocates nothing.
        var owedGaps: [RecoveryGap] = []
        /// At most one element: the last confirmed position, while nothing of the present stream is confirmed.
        var origins: [ChannelPosition] = []

        /// The last confirmed position.
        var position: ChannelPosition {
            origins.first ?? ChannelPosition(stream: stream, serial: confirmed)
        }

        /// Notes how far messages were handed over.
        ///
        /// - Returns: Whether the channel has to be added to ``TokenCursors/unasked``.
        mutating func handOver(_ serial: UInt64) -> Bool {
            guard serial > handed else { return false }
            handed = serial
            return flags.insert(.isUnasked).inserted
        }

        mutating func confirm(to serial: UInt64) {
            confirmed = max(confirmed, serial)
            owedGaps = []
            origins = []
            flags.remove(.owesOpening)
        }
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        /// The outstanding ping follows something of the channel.
        static let isAsked = Flags(rawValue: 1)
        /// A pong frame that does not count yet follows something of the channel.
        static let isPending = Flags(rawValue: 2)
        /// The channel is in ``TokenCursors/unasked``.
        static let isUnasked = Flags(rawValue: 4)
        static let owesOpening = Flags(rawValue: 8)
    }

    private var cursors = ChannelValues<Cursor>()
    /// The channels of which something was handed over behind the last ping.
    private var unasked: [ChannelName] = []
    /// The channels that the outstanding ping follows.
    private var asked: [ChannelName] = []
    /// The channels of a pong frame that does not count yet.
    private var pending: [ChannelName] = []
    private var pings = ConfirmationPings()

    /// Whether something was handed over that no ping follows.
    var hasUnasked: Bool { !unasked.isEmpty }

    /// Whether a ping is outstanding, so that the client is not asked again.
    var awaitsPong: Bool { pings.isOutstanding }

    /// Whether no ping is outstanding, and it is not too early for one.
    func canBeAsked(at now: Int64) -> Bool { pings.canBegin(at: now) }

    /// Whether the client has answered a `pusher:ping`.
    var answersPings: Bool {
        get { pings.answersPings }
        set { pings.answersPings = newValue }
    }

    /// Whether something is not confirmed.
    var hasUnconfirmed: Bool { !unasked.isEmpty || !asked.isEmpty }

    /// Whether the channel has a cursor.
    func contains(_ channel: ChannelName) -> Bool { cursors[channel] != nil }

    // MARK: - Channels

    /// Begins a cursor with its grant.
    ///
    /// - Parameters:
    ///   - channel: The channel.
    ///   - start: Where the subscription begins.
    ///   - gap: The gap that the client is told with it.
    ///   - origin: The last confirmed position, in a stream that the present one follows.
    mutating func begin(
        _ channel: ChannelName,
        _ start: SubscriptionStart,
        gap: RecoveryGap?,
        behind origin: ChannelPosition? = nil
    ) {
        remove(channel)
        var replay = UInt64(start.rewound)
        if case .recovered(let count) = start.continuity { replay = UInt64(count) }
        var cursor = Cursor(
            stream: start.position.stream,
            confirmed: start.position.serial,
            handed: start.position.serial + replay,
            owedGaps: gap.map { [$0] } ?? [],
            origins: origin.map { [$0] } ?? []
        )
        if start.hasOpening { cursor.flags.insert(.owesOpening) }
        let owes = replay > 0 || gap != nil || start.hasOpening || origin != nil
        if owes { cursor.flags.insert(.isUnasked) }
        cursors[channel] = cursor
        if owes { unasked.append(channel) }
    }

    /// Continues a cursor in another stream, with nothing missing between the two.
    ///
    /// What was not confirmed of the former stream comes again from there.
    mutating func goOn(_ channel: ChannelName, at start: SubscriptionStart) {
        guard let former = cursors[channel] else { return }
        var start = start
        start.hasOpening = former.flags.contains(.owesOpening)
        begin(channel, start, gap: former.owedGaps.first, behind: former.position)
    }

    /// Removes a cursor, with the end of the subscription.
    mutating func remove(_ channel: ChannelName) {
        guard let flags = cursors.remove(channel)?.flags else { return }
        // A client that subscribes again and again, and answers no ping, must not grow the lists.
        if flags.contains(.isUnasked) { unasked.removeAll { $0 == channel } }
        if flags.contains(.isAsked) { asked.removeAll { $0 == channel } }
        if flags.contains(.isPending) { pending.removeAll { $0 == channel } }
    }

    /// The number of channels in the lists of what is not confirmed, each once in a list.
    var unconfirmedCount: Int { unasked.count + asked.count + pending.count }

    /// Removes all cursors.
    mutating func removeAll() {
        cursors = ChannelValues()
        unasked = []
        asked = []
        pending = []
    }

    /// Notes how far a channel's messages were handed over.
    ///
    /// - Returns: How far they are by now: with the grant it may have been further. `nil` for a channel without a cursor.
    mutating func handOver(_ serial: UInt64, of channel: ChannelName) -> UInt64? {
        let result = cursors.change(channel) { ($0.handOver(serial), $0.handed) }
        guard let (isUnasked, handed) = result else { return nil }
        if isUnasked { unasked.append(channel) }
        return handed
    }

    /// Notes how far the messages of each channel were handed over.
    mutating func handOver(upTo mark: (ChannelName) -> UInt64?) {
        var found: [ChannelName] = []
        cursors.changeAll { channel, cursor in
            if let serial = mark(channel), cursor.handOver(serial) { found.append(channel) }
        }
        unasked += found
    }

    // MARK: - Confirmation

    /// The pings to write behind what was handed over, unless it is too early or one is outstanding.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - isUrgent: Whether the connection is about to be closed: it is asked although it was a moment ago.
    /// - Returns: What to write; `nil` for nothing.
    mutating func ask(at now: Int64, isUrgent: Bool = false) -> ConfirmationPings.Request? {
        decide(at: now)
        guard !unasked.isEmpty, let request = pings.begin(at: now, isUrgent: isUrgent) else {
            return nil
        }
        for channel in exchange(&unasked, with: []) {
            let isAsked = cursors.change(channel) {
                $0.asked = $0.handed
                $0.flags.remove(.isUnasked)
                return $0.flags.insert(.isAsked).inserted
            }
            if isAsked == true { asked.append(channel) }
        }
        return request
    }

    /// Handles a `pusher:pong`: the client has processed everything ahead of the ping.
    ///
    /// - Returns: The channels of which something is confirmed with it.
    mutating func receivePong() -> [ChannelName] {
        guard pings.receivePong() else { return [] }
        let channels = exchange(&asked, with: [])
        for channel in channels { change(channel, flag: .isAsked) { $0.confirm(to: $0.asked) } }
        return channels
    }

    /// Handles a pong frame, which counts only when the connection outlives it.
    ///
    /// - Returns: The channels of which something is confirmed by an earlier one.
    mutating func receivePongFrame(_ number: UInt16, at now: Int64) -> [ChannelName] {
        decide(at: now)
        guard pings.receivePongFrame(number, at: now) else { return [] }
        let channels = confirmPending(outlivingTo: now)
        pings.awaitOutliving(from: now)
        awaitOutliving()
        return channels
    }

    /// The confirmed position in a channel; `nil` for a channel without a cursor.
    func confirmedPosition(in channel: ChannelName) -> ChannelPosition? {
        cursors[channel]?.position
    }

    /// Takes the pong frame to the first ping for its answer, if the client has not answered otherwise.
    private mutating func decide(at now: Int64) {
        if pings.decidesForFrames(at: now) { awaitOutliving() }
    }

    private mutating func awaitOutliving() {
        for channel in exchange(&pending, with: []) { change(channel, flag: .isPending) { _ in } }
        pending = exchange(&asked, with: [])
        for channel in pending {
            change(channel, flag: .isAsked) {
                $0.pending = $0.asked
                $0.flags.insert(.isPending)
            }
        }
    }

    /// Counts the last pong frame if the connection has outlived it.
    @discardableResult
    private mutating func confirmPending(outlivingTo end: Int64) -> [ChannelName] {
        guard pings.hasOutlivedPongFrame(at: end) else { return [] }
        let channels = exchange(&pending, with: [])
        for channel in channels { change(channel, flag: .isPending) { $0.confirm(to: $0.pending) } }
        return channels
    }

    /// The pings by which a superseded connection shows whether its client lives.
    mutating func beginCheck() -> ConfirmationPings.Request { pings.beginCheck() }

    /// Handles the answer to a check for life: the number of a pong frame, or `nil` for a `pusher:pong`.
    mutating func passesCheck(_ frame: UInt16?) -> Bool { pings.passesCheck(frame) }

    private mutating func change(
        _ channel: ChannelName,
        flag: Flags,
        _ body: (inout Cursor) -> Void
    ) {
        cursors.change(channel) {
            // A cursor of a later subscription to the channel has no such flag.
            if $0.flags.remove(flag) != nil { body(&$0) }
        }
    }

    /// The cursors at the end of the connection, or at the opening of its successor.
    mutating func confirmed(at end: Int64) -> [SessionCursor] {
        decide(at: end)
        confirmPending(outlivingTo: end)
        return confirmed
    }

    /// The cursors as they are certainly confirmed by now.
    var confirmed: [SessionCursor] {
        cursors.map { channel, cursor in
            SessionCursor(
                channel,
                cursor.position,
                owedGap: cursor.owedGaps.first,
                owesOpening: cursor.flags.contains(.owesOpening)
            )
        }
    }
}
