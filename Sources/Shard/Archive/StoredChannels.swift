import Broker
import PusherProtocol

/// The channels of a standalone broker with an archive: decided as in memory, and what concerns a stored channel is
/// performed when the archive has written it.
///
/// The extensions read from the archive, and release what it has written.
final class StoredChannels: ChannelAuthority {
    /// Decides, and performs what concerns no stored channel.
    let local: LocalChannels
    /// The entries that the archive has to write first.
    let commits: CommitQueue
    /// The subscriptions and queries that wait for messages of the archive.
    var reads = ArchiveReads()

    init(_ channels: ChannelService, _ archive: any MessageArchive) {
        local = LocalChannels(channels)
        let context = channels.context
        commits = CommitQueue(
            archive,
            shard: context.shard,
            continuesInMemory: context.settings.continuesInMemory
        )
    }

    var channels: ChannelService { local.channels }
    var context: ShardContext { channels.context }

    func publish(
        _ event: ProposedEvent,
        on channel: Channel?,
        at address: ChannelAddress,
        by publisher: () -> Proposal.Publisher
    ) -> PendingTrigger.Outcome? {
        guard !commits.mustWait(event, isNumbered(event, on: channel), at: address) else {
            commits.append(.publish(Proposal(event, by: publisher())), on: address)
            return nil
        }
        let decision = local.decide(on: event, on: channel, at: address)
        guard case .publish(let stream) = decision else {
            return decision.outcome(of: event, on: address.name)
        }
        if let stream, channels.state.streams[stream].isStored {
            guard isArchived(stream, isDurable: event.isDurable) else { return .unstored }
            if !commits.archive.isFailing {
                hold(Proposal(event, by: publisher()), in: stream, at: address)
                return nil
            }
        }
        return local.number(event, in: stream, on: channel, at: address)
    }

    private func isNumbered(_ event: ProposedEvent, on channel: Channel?) -> Bool {
        event.isNumbered(by: channel?.home.stream.map { channels.state.streams[$0].rule })
    }

    /// It waits for held entries of the channel, for the ID of its stream to be written, or for messages of the archive.
    func subscribe(
        _ request: SubscriptionRequest,
        to address: ChannelAddress,
        as member: Member?,
        from position: PositionRequest?
    ) {
        guard !channels.refuseIfOverLimit(request, to: address, from: position) else { return }
        let stream = openStored(at: address, by: position)
        guard !commits.mustWait(at: address) else {
            return commits.append(.subscribe(request, member, position), on: address)
        }
        if let stream {
            let subscription = ArchiveReads.Subscription(
                request: request,
                address: address,
                member: member,
                position: position
            )
            if ask(for: subscription, stream) { return }
        }
        local.add(request, to: address, as: member, from: position)
    }

    func unsubscribe(
        _ id: SocketID,
        of shard: Int,
        from channel: Channel?,
        at address: ChannelAddress
    ) {
        guard !reads.removeSubscription(of: id, to: address) else { return }
        guard !commits.mustWait(at: address) else {
            return commits.append(.unsubscribe(id, shard: shard), on: address)
        }
        local.unsubscribe(id, of: shard, from: channel, at: address)
    }

    func list(_ range: ChannelRange, _ finish: @escaping (ChannelPortion) -> Void) -> Int {
        local.list(range, finish)
    }

    func appsWereReplaced(_ former: AppRegistry) {
        for id in former.ids { channels.state.apply(context.registry.apps[id]?.recovery, to: id) }
    }

    /// Posts the entries held in this turn.
    @discardableResult
    func dispatch() -> Bool {
        commits.forget(channels.state.takeForgottenRows())
        commits.dispatch()
        return false
    }

    var tableSizes: [(table: String, count: Int)] {
        [
            ("events that wait for the archive", commits.count),
            ("requests that wait for the archive", reads.count),
        ]
    }

    func dropPending() {
        reads = ArchiveReads()
        commits.dropAll()
    }

    // MARK: - Holding back

    /// Whether an event of a stored stream may be published: in the archive, or in memory while the archive fails.
    ///
    /// In memory the stream continues under another ID, and afterwards in the archive under a third one.
    private func isArchived(_ stream: Int, isDurable: Bool) -> Bool {
        let isFailing = commits.archive.isFailing
        guard !isFailing || commits.continuesInMemory && !isDurable else { return false }
        channels.state.setVolatile(stream, isFailing)
        return true
    }

    /// Assigns a serial to an event of a stored stream, and holds the event until it is written.
    private func hold(_ proposal: Proposal, in stream: Int, at address: ChannelAddress) {
        let event = proposal.event
        let serial = channels.state.streams.nextSerial(stream)
        let sent = ChannelMessage(event, channel: address.name, serial: serial)
        let opening = channels.state.mint(stream)
        let time = context.milliseconds
        let now = time + context.calendarOffset
        let message = StoredMessage(
            serial: serial,
            time: now,
            except: event.except,
            envelope: sent.envelope
        )
        let storedKey = event.key.map { key in
            let age = context.registry.apps[address.app]?.features.idempotencyAge ?? 0
            return StoredKey(key, digest: event.digest, expiry: now + Int64(age) * 1_000)
        }
        commits.append(
            CommitQueue.Message(proposal, sent, in: stream, at: time),
            on: address,
            opening: opening,
            .message(row: channels.state.streams[stream].row, message, storedKey),
            isDurable: event.isDurable
        )
    }

    /// Holds the ID of a stored channel's new stream, if the archive has no record of it yet.
    ///
    /// If it is lazy, a stream that any client may open is written only with its first message.
    func holdOpening(_ stream: Int, at address: ChannelAddress, isLazy: Bool = false) {
        guard channels.state.streams[stream].isStored, !commits.archive.isFailing,
            let opening = channels.state.openRow(stream, isLazy: isLazy)
        else { return }
        commits.append(opening: stream, on: address, .open(opening))
    }

    /// The maximum number of streams without messages that the archive keeps over a stop; few, because any client may
    /// open them.
    private static var blankKeptMax: Int { 1_000 }

    /// Makes the archive keep the streams of channels without messages, before a stop disconnects their clients.
    func keepBlankStreams() {
        for stream in channels.state.streams.blankStored(upTo: Self.blankKeptMax) {
            holdOpening(stream, at: channels.state.streams[stream].address)
        }
        dispatch()
    }

    /// The channel's stream, if the channel is stored and the subscription needs one; its ID is held until it is
    /// written.
    func openStored(at address: ChannelAddress, by position: PositionRequest?) -> Int? {
        guard let recovery = context.registry.apps[address.app]?.recovery, recovery.hasArchive,
            case let rule = recovery.rule(of: address.name), rule.store == .archive,
            position != nil || rule.opening != .live,
            let stream = channels.openStream(at: address)
        else { return nil }
        holdOpening(stream, at: address, isLazy: true)
        return stream
    }
}
