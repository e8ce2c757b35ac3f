import PusherProtocol

/// How far a client with a session token has confirmed each of its channels, for one connection.
///
/// After messages are handed over, the broker writes a ping and records how far each channel was handed over. The pong
/// confirms that. All times are milliseconds of one steady clock.
struct TokenCursors: Sendable {
    /// The subscription to one channel.
    private struct Cursor {
        let stream: StreamID
        var confirmed: UInt64
        /// The serial up to which messages were handed over, as last read.
        var handed: UInt64
        /// At most one element: few cursors have any, and an empty array allocates nothing.
        private var debts: [Debt]
        /// The number of the last ping before the subscription.
        let firstPing: UInt32
        var flags: Flags = []

        /// What lasts until something of the present stream is confirmed.
        private struct Debt {
            /// The gap that the client was notified of.
            var gap: RecoveryGap?
            /// The last confirmed position, in a stream that precedes the present one.
            var origin: ChannelPosition?
        }

        init(
            _ start: ChannelPosition,
            gap: RecoveryGap?,
            behind origin: ChannelPosition?,
            firstPing: UInt32
        ) {
            stream = start.stream
            confirmed = start.serial
            handed = start.serial
            debts = gap == nil && origin == nil ? [] : [Debt(gap: gap, origin: origin)]
            self.firstPing = firstPing
        }

        /// The gap that the client was notified of, and has not confirmed.
        var owedGap: RecoveryGap? { debts.first?.gap }

        /// The last confirmed position.
        var position: ChannelPosition {
            debts.first?.origin ?? ChannelPosition(stream: stream, serial: confirmed)
        }

        func confirmed(_ channel: ChannelName) -> SessionCursor {
            SessionCursor(
                channel,
                position,
                owedGap: owedGap,
                owesOpening: flags.contains(.owesOpening)
            )
        }

        /// Records how far messages were handed over, and returns whether the channel has to be added to
        /// ``TokenCursors/unasked``.
        mutating func handOver(_ serial: UInt64) -> Bool {
            guard serial > handed else { return false }
            handed = serial
            return flags.insert(.isUnasked).inserted
        }

        mutating func confirm(_ mark: Mark) {
            // A ping before the subscription belongs to a former subscription.
            guard mark.ping > firstPing else { return }
            flags.remove(.owesOpening)
            if mark.position.stream == stream {
                confirmed = max(confirmed, mark.position.serial)
                debts = []
            } else {
                debts = [Debt(gap: nil, origin: mark.position)]
            }
        }
    }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        /// The channel is in ``TokenCursors/unasked``.
        static let isUnasked = Flags(rawValue: 1)
        static let owesOpening = Flags(rawValue: 2)
    }

    /// How far a channel's messages were handed over before a ping.
    private struct Mark {
        let channel: ChannelName
        let ping: UInt32
        let position: ChannelPosition
    }

    private var cursors = ChannelValues<Cursor>()
    /// The channels of which messages were handed over after the last ping.
    private var unasked: [ChannelName] = []
    /// The marks of the pings whose answers do not count yet, in their order.
    private var marks: [Mark] = []
    private var pings: ConfirmationPings

    /// Creates the cursors of a connection with the pings that the client is asked by.
    init(_ pings: ConfirmationPings = ConfirmationPings()) { self.pings = pings }

    /// Whether messages were handed over that no ping follows.
    var hasUnasked: Bool { !unasked.isEmpty }

    /// Whether a ping is outstanding, so that the client is not asked again.
    var awaitsPong: Bool { pings.isOutstanding }

    /// Whether the client may be asked now.
    func canBeAsked(behind occasion: ConfirmationPings.Occasion, at now: Int64) -> Bool {
        pings.canAsk(behind: occasion, at: now)
    }

    /// How much may be replayed before the client is asked again, in bytes.
    var replayLengthLeft: Int { pings.replayLengthLeft }

    /// Whether the client has answered a `pusher:ping`.
    var answersPings: Bool {
        get { pings.answersPings }
        set { pings.answersPings = newValue }
    }

    /// Whether something is unconfirmed: the client was not asked about it, or has not answered yet.
    var hasUnconfirmed: Bool { !unasked.isEmpty || !marks.isEmpty && pings.isOutstanding }

    /// Whether the channel has a cursor.
    func contains(_ channel: ChannelName) -> Bool { cursors[channel] != nil }

    // MARK: - Channels

    /// Begins a cursor with its grant; a replay counts when it is handed over.
    ///
    /// The client is notified of the gap with the grant. The origin is the last confirmed position, in a stream that
    /// precedes the present one.
    mutating func begin(
        _ channel: ChannelName,
        _ start: SubscriptionStart,
        gap: RecoveryGap?,
        behind origin: ChannelPosition? = nil
    ) {
        remove(channel)
        begin(channel, start, gap: gap, behind: origin, firstPing: pings.number)
    }

    private mutating func begin(
        _ channel: ChannelName,
        _ start: SubscriptionStart,
        gap: RecoveryGap?,
        behind origin: ChannelPosition?,
        firstPing: UInt32
    ) {
        var cursor = Cursor(start.position, gap: gap, behind: origin, firstPing: firstPing)
        if start.hasOpening { cursor.flags.insert(.owesOpening) }
        let owes = gap != nil || start.hasOpening || origin != nil
        if owes { cursor.flags.insert(.isUnasked) }
        cursors[channel] = cursor
        if owes { unasked.append(channel) }
    }

    /// Continues a cursor in another stream, with nothing missing between the two.
    ///
    /// Unconfirmed messages of the former stream are redelivered from that stream.
    mutating func goOn(_ channel: ChannelName, at start: SubscriptionStart) {
        guard let former = cursors[channel] else { return }
        var start = start
        start.hasOpening = former.flags.contains(.owesOpening)
        if former.flags.contains(.isUnasked) { unasked.removeAll { $0 == channel } }
        begin(
            channel,
            start,
            gap: former.owedGap,
            behind: former.position,
            firstPing: former.firstPing
        )
    }

    /// Removes a cursor, with the end of the subscription.
    mutating func remove(_ channel: ChannelName) {
        guard let flags = cursors.remove(channel)?.flags else { return }
        // A client that subscribes repeatedly, and answers no ping, must not grow the list.
        if flags.contains(.isUnasked) { unasked.removeAll { $0 == channel } }
    }

    /// Removes the cursor of a channel, and returns it as it is certainly confirmed.
    mutating func take(_ channel: ChannelName) -> SessionCursor? {
        defer { remove(channel) }
        return cursors[channel]?.confirmed(channel)
    }

    /// The number of entries for unconfirmed messages.
    var unconfirmedCount: Int { unasked.count + marks.count }

    /// Removes all cursors.
    mutating func removeAll() {
        cursors = ChannelValues()
        unasked = []
        marks = []
    }

    /// Records how far a channel's messages were handed over.
    ///
    /// - Returns: The highest serial handed over, which may come from the grant; `nil` for a channel without a cursor.
    mutating func handOver(_ serial: UInt64, of channel: ChannelName) -> UInt64? {
        let result = cursors.change(channel) { ($0.handOver(serial), $0.handed) }
        guard let (isUnasked, handed) = result else { return nil }
        if isUnasked { unasked.append(channel) }
        return handed
    }

    /// Records that messages of a replay were handed over, up to the last serial.
    ///
    /// For the length see ``ConfirmationPings/noteReplayed(_:)``.
    mutating func replay(upTo serial: UInt64, of channel: ChannelName, length: Int) {
        guard handOver(serial, of: channel) != nil else { return }
        pings.noteReplayed(length)
    }

    /// Records how far the messages of each channel were handed over.
    mutating func handOver(upTo mark: (ChannelName) -> UInt64?) {
        var found: [ChannelName] = []
        cursors.changeAll { channel, cursor in
            if let serial = mark(channel), cursor.handOver(serial) { found.append(channel) }
        }
        unasked += found
    }

    // MARK: - Confirmation

    /// The pings to write after what was handed over; `nil` if it is too early or one is outstanding.
    mutating func ask(
        at now: Int64,
        behind occasion: ConfirmationPings.Occasion = .messages
    ) -> ConfirmationPings.Request? {
        pings.decide(at: now)
        pings.giveUpOverdue(at: now)
        takeBackMarks()
        guard !unasked.isEmpty, let request = pings.ask(behind: occasion, at: now) else {
            return nil
        }
        for channel in exchange(&unasked, with: []) {
            let position = cursors.change(channel) {
                $0.flags.remove(.isUnasked)
                return ChannelPosition(stream: $0.stream, serial: $0.handed)
            }
            guard let position else { continue }
            marks.append(Mark(channel: channel, ping: pings.number, position: position))
        }
        return request
    }

    /// Makes the client be asked again about what precedes pings that cannot be answered any more.
    private mutating func takeBackMarks() {
        while let mark = marks.last, !pings.mayConfirm(mark.ping) {
            marks.removeLast()
            let isFound = cursors.change(mark.channel) {
                mark.ping > $0.firstPing && $0.flags.insert(.isUnasked).inserted
            }
            if isFound == true { unasked.append(mark.channel) }
        }
    }

    /// Handles a `pusher:pong`: the client has processed everything before the ping.
    ///
    /// - Returns: The channels of which something is confirmed by it.
    mutating func receivePong() -> [ChannelName] {
        guard let answered = pings.receivePong() else {
            takeBackMarks()
            return []
        }
        return confirm(upTo: answered)
    }

    /// Handles a pong frame, which counts only when the connection outlives it.
    ///
    /// - Returns: The channels of which something is confirmed by an earlier one.
    mutating func receivePongFrame(_ number: UInt16, at now: Int64) -> [ChannelName] {
        pings.receivePongFrame(number, at: now)
        return confirmOutlived(to: now)
    }

    /// The confirmed position in a channel; `nil` for a channel without a cursor.
    func confirmedPosition(in channel: ChannelName) -> ChannelPosition? {
        cursors[channel]?.position
    }

    /// Counts the pong frames that the connection has outlived, if the client answers with these.
    @discardableResult
    private mutating func confirmOutlived(to end: Int64) -> [ChannelName] {
        pings.decide(at: end)
        return pings.removeOutlived(at: end).map { confirm(upTo: $0) } ?? []
    }

    /// Confirms what precedes a ping, and returns the channels.
    private mutating func confirm(upTo ping: UInt32) -> [ChannelName] {
        let confirmed = marks.prefix { $0.ping <= ping }
        for mark in confirmed { cursors.change(mark.channel) { $0.confirm(mark) } }
        // An empty array would keep its memory for as long as the connection lasts.
        marks = confirmed.count == marks.count ? [] : Array(marks[confirmed.endIndex...])
        return confirmed.map(\.channel)
    }

    /// Records a `pusher:ping` whose pong confirms nothing.
    mutating func notePing() { pings.notePing() }

    /// The pings that check whether the client of a superseded connection is alive.
    mutating func beginCheck() -> ConfirmationPings.Request { pings.beginCheck() }

    /// Handles the answer to a liveness check: the number of a pong frame, or `nil` for a `pusher:pong`.
    mutating func passesCheck(_ frame: UInt16?) -> Bool { pings.passesCheck(frame) }

    /// The cursors at the end of the connection, or at the opening of its successor.
    mutating func confirmed(at end: Int64) -> [SessionCursor] {
        confirmOutlived(to: end)
        return confirmed
    }

    /// The cursors as certainly confirmed by now.
    var confirmed: [SessionCursor] { cursors.map { $1.confirmed($0) } }
}
