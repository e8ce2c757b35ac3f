package import Broker
import BrokerConfiguration
import Net
package import PusherProtocol

/// Stored channels: the archive writes a message before any client receives it.
extension ChannelService {
    // MARK: - Holding back

    /// The limit that prevents publishing events on stored channels at present.
    package func archiveLimit(of publications: [Publication], _ app: App) -> Limit? {
        guard let archive = context.archive,
            archive.unstoredByteCount >= context.settings.configuration.recovery.unstoredBytesMax
        else { return nil }
        let isConcerned = publications.contains { publication in
            publication.channels.contains { context.isStored($0, of: app) }
        }
        return isConcerned ? .unstoredBytes : nil
    }

    /// The limit that prevents publishing a client event at present.
    func archiveLimit(of channel: ChannelName, _ app: App) -> Limit? {
        guard let archive = context.archive,
            archive.unstoredByteCount >= context.settings.configuration.recovery.unstoredBytesMax
        else { return nil }
        return context.isStored(channel, of: app) ? .unstoredBytes : nil
    }

    /// Whether an event of a stored stream may be published: in the archive, or in memory while the archive fails.
    ///
    /// In memory the stream continues under another ID, and afterwards in the archive under a third one.
    func isArchived(_ stream: Int, isDurable: Bool) -> Bool {
        guard let commits else { return false }
        let isFailing = commits.archive.isFailing
        guard !isFailing || commits.continuesInMemory && !isDurable else { return false }
        state.setVolatile(stream, isFailing)
        return true
    }

    /// Assigns a serial to an event of a stored stream, and holds the event until it is written.
    func hold(_ proposal: Proposal, in stream: Int, at address: ChannelAddress) {
        let event = proposal.event
        let serial = state.streams.nextSerial(stream)
        let sent = ChannelMessage(event, channel: address.name, serial: serial)
        let opening = state.mint(stream)
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
        commits?
            .append(
                CommitQueue.Message(proposal, sent, in: stream, at: time),
                on: address,
                opening: opening,
                .message(row: state.streams[stream].row, message, storedKey),
                isDurable: event.isDurable
            )
    }

    /// Holds the ID of a stored channel's new stream, if the archive has no record of it yet.
    ///
    /// If it is lazy, a stream that any client may open is written only with its first message.
    func holdOpening(_ stream: Int, at address: ChannelAddress, isLazy: Bool = false) {
        guard let commits, state.streams[stream].isStored, !commits.archive.isFailing,
            let opening = state.openRow(stream, isLazy: isLazy)
        else { return }
        commits.append(opening: stream, on: address, .open(opening))
    }

    /// The maximum number of streams without messages that the archive keeps over a stop; few, because any client may
    /// open them.
    private static var blankKeptMax: Int { 1_000 }

    /// Makes the archive keep the streams of channels without messages, before a stop disconnects their clients.
    package func keepBlankStreams() {
        guard commits != nil else { return }
        for stream in state.streams.blankStored(upTo: Self.blankKeptMax) {
            holdOpening(stream, at: state.streams[stream].address)
        }
        dispatchCommits()
    }

    /// Posts the entries held in this turn.
    func dispatchCommits() {
        guard let commits else { return }
        commits.forget(state.takeForgottenRows())
        commits.dispatch()
    }

    // MARK: - Releasing

    /// Receives a reply of the archive.
    func receive(_ reply: ArchiveReply) {
        guard let commits else { return }
        switch reply {
        case .committed(let group):
            commits.confirm(group)
            commits.isReleasing = true
            while let entry = commits.popFirst(confirmed: group) { release(entry) }
            commits.isReleasing = false
        case .failed(let epoch):
            let failed = commits.fail(epoch: epoch)
            for entry in failed { if let stream = entry.stream { state.takeBack(stream) } }
            commits.isReleasing = true
            for entry in failed { giveUp(entry, inMemory: commits.continuesInMemory) }
            commits.isReleasing = false
        case .renewed: state.renewAll()
        case .page(let page, let number): receive(page, of: number)
        // Concerns no channel.
        case .sessionsWritten: break
        }
    }

    private func release(_ entry: CommitQueue.Entry) {
        switch entry.content {
        case .message(let message): release(message, at: entry.address)
        case .opening: break
        case .request(let request): perform(request, at: entry.address)
        }
    }

    /// Sends a written message to all subscribers, and answers its publisher.
    private func release(_ message: CommitQueue.Message, at address: ChannelAddress) {
        let outcome = complete(
            message.proposal.event,
            message.sent,
            in: message.stream,
            on: table[address],
            at: address,
            time: message.time
        )
        settle(message.proposal, outcome, at: address)
    }

    /// Performs a request that has waited for earlier entries.
    private func perform(_ request: CommitQueue.Request, at address: ChannelAddress) {
        switch request {
        case .subscribe(let request, let member, let position):
            addSubscriber(request, to: address, as: member, from: position)
        case .unsubscribe(let id, let shard): removeSubscriber(id, of: shard, at: address)
        case .publish(let proposal): sequence(proposal, on: table[address], at: address)
        case .purge(let reply): purge(address, reply)
        case .restart(let reply): restart(address, reply)
        }
    }

    /// Refuses a message that could not be written, or publishes it in memory.
    private func giveUp(_ entry: CommitQueue.Entry, inMemory: Bool) {
        switch entry.content {
        case .opening: break
        case .request(let request): perform(request, at: entry.address)
        case .message(let message):
            guard inMemory else { return settle(message.proposal, .unstored, at: entry.address) }
            perform(.publish(message.proposal), at: entry.address)
        }
    }
}

extension CommitQueue.Entry {
    /// The stream that it concerns.
    fileprivate var stream: Int? {
        switch content {
        case .message(let message): message.stream
        case .opening(let stream): stream
        case .request: nil
        }
    }
}
