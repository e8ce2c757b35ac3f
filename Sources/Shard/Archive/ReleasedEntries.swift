import Broker
import PusherProtocol

// What the archive has answered: entries that it has written or could not write are performed, in their order.
extension StoredChannels {
    /// Receives a reply of the archive.
    func receive(_ reply: ArchiveReply) {
        switch reply {
        case .committed(let group):
            commits.confirm(group)
            commits.isReleasing = true
            while let entry = commits.popFirst(confirmed: group) { release(entry) }
            commits.isReleasing = false
        case .failed(let epoch):
            let failed = commits.fail(epoch: epoch)
            for entry in failed { if let stream = entry.stream { channels.state.takeBack(stream) } }
            commits.isReleasing = true
            for entry in failed { giveUp(entry, inMemory: commits.continuesInMemory) }
            commits.isReleasing = false
        case .renewed: channels.state.renewAll()
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
        let outcome = local.recordAndDistribute(
            message.proposal.event,
            message.sent,
            in: message.stream,
            on: channels.table[address],
            at: address,
            time: message.time
        )
        channels.outcomes.settle(message.proposal, outcome, at: address)
    }

    /// Performs a request that has waited for earlier entries.
    private func perform(_ request: CommitQueue.Request, at address: ChannelAddress) {
        switch request {
        case .subscribe(let request, let member, let position):
            subscribe(request, to: address, as: member, from: position)
        case .unsubscribe(let id, let shard):
            channels.removeSubscriber(id, of: shard, at: address)
        case .publish(let proposal):
            channels.sequence(proposal, on: channels.table[address], at: address)
        case .purge(let finish): purge(address, finish)
        case .restart(let finish): finish(.success([channels.restarted(address)]))
        }
    }

    /// Refuses a message that could not be written, or publishes it in memory.
    private func giveUp(_ entry: CommitQueue.Entry, inMemory: Bool) {
        switch entry.content {
        case .opening: break
        case .request(let request): perform(request, at: entry.address)
        case .message(let message):
            if inMemory {
                perform(.publish(message.proposal), at: entry.address)
            } else {
                channels.outcomes.settle(message.proposal, .unstored, at: entry.address)
            }
        }
    }

    // MARK: - Purges

    /// Drops what a channel keeps, after its held entries; the backend is answered when the archive has recorded it.
    func purge(_ address: ChannelAddress, _ finish: @escaping (HomeAnswer) -> Void) {
        guard !commits.mustWait(at: address) else {
            return commits.append(.purge(finish), on: address)
        }
        guard let stream = channels.openStream(at: address),
            channels.state.streams[stream].isStored, !commits.archive.isFailing
        else { return local.answer(.purge(address), finish) }
        channels.state.purge(stream, of: address)
        holdOpening(stream, at: address)
        commits.append(.restart(finish), on: address)
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
