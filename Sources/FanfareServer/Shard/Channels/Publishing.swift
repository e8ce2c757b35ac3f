import Broker
import BrokerConfiguration
import Net
import PusherProtocol

/// The path of an event: publish to the channel's home, sequence there, fan out on each shard that has subscribers.
extension ChannelService {
    // MARK: - Publishing

    /// The limit that prevents publishing at present: on events in transit to homes, or on memory for received data.
    var publishLimit: Limit? {
        if context.links.areBehind(limit: context.settings.configuration.relayedEventsMax) {
            return .relayedEvents
        }
        return context.reactor.inbound.isExhausted ? .inboundBytes : nil
    }

    /// Publishes the events of one request, in their order, each on one channel or several.
    ///
    /// - Returns: The pending trigger, or the outcome if all events are settled already.
    func publish(
        _ publications: some Collection<Publication>,
        of app: AppID
    ) -> PublishResult {
        var pending: PendingTrigger?
        var settled: PendingTrigger.Outcome?
        for publication in publications {
            for name in publication.channels {
                let address = ChannelAddress(app: app, name: name)
                let home = context.home(of: address)
                let channel = home == context.shard ? table[address] : nil
                func addEvent() -> PendingTrigger {
                    let trigger =
                        pending
                        ?? triggers.begin(
                            isRefusable: publications.count == 1
                                && publications.first?.channels.count == 1
                        )
                    pending = trigger
                    trigger.addEvent()
                    return trigger
                }
                if home == context.shard, channel?.backlog?.hasRoom ?? true {
                    let outcome = sequence(publication, on: channel, at: address) {
                        .here(addEvent())
                    }
                    if let outcome { settled = settled?.combined(with: outcome) ?? outcome }
                    continue
                }
                let trigger = addEvent()
                if let backlog = channel?.backlog {
                    enqueue(publication, .here(trigger), in: backlog)
                } else {
                    let receipt = PublishReceipt(
                        shard: context.shard,
                        number: trigger.number,
                        isRefusable: trigger.isRefusable
                    )
                    context.links.send(.publish(address, publication, receipt), to: home)
                }
            }
        }
        guard let pending else { return .settled(settled ?? .accepted) }
        if let settled { pending.add(settled) }
        return .pending(pending)
    }

    /// Publishes a client event that the session has accepted.
    func publish(_ event: ClientEvent, on channel: ChannelName, of connection: Connection) {
        let address = ChannelAddress(app: connection.app.id, name: channel)
        let home = context.home(of: address)
        let sender = connection.socketID
        guard home != context.shard else { return receive(event, by: sender, on: address) }
        context.links.send(.publishClientEvent(address, event, sender: sender), to: home)
    }

    // MARK: - At the home

    /// Sequences an event that another shard has received, as soon as the subscribers have room for it.
    func receive(_ publication: Publication, on address: ChannelAddress, _ receipt: PublishReceipt)
    {
        guard !receipt.isRefusable || !context.reactor.inbound.isExhausted else {
            return refuseLater(.elsewhere(receipt))
        }
        let channel = table[address]
        if let backlog = channel?.backlog, !backlog.hasRoom {
            return enqueue(publication, .elsewhere(receipt), in: backlog)
        }
        let outcome = sequence(publication, on: channel, at: address) { .elsewhere(receipt) }
        if let outcome { settle(.elsewhere(receipt), outcome) }
    }

    /// Sequences a client event, as soon as the subscribers have room for it.
    func receive(_ event: ClientEvent, by sender: SocketID, on address: ChannelAddress) {
        // The sender is subscribed: its subscription arrived over the same link, as will its unsubscription.
        guard let channel = table[address],
            let author = channel.home.author(sender, on: address.name)
        else { return }
        if let backlog = channel.backlog, !backlog.hasRoom {
            return backlog.append(.clientEvent(event, author))
        }
        sequence(event, by: author, on: channel, at: address)
    }

    /// At the home: assigns an event its place in the channel's order, and sends it to the shards with subscribers.
    ///
    /// The channel is `nil` if it has no subscribers. An event is not published if its idempotency key is known, or its
    /// condition is not met. Returns `nil` if the archive has to write the event first, or in a cluster Redis has to
    /// order it; then the outcome is reported to `origin`.
    func sequence(
        _ publication: Publication,
        on channel: Channel?,
        at address: ChannelAddress,
        origin: () -> ChannelBacklog.Origin
    ) -> PendingTrigger.Outcome? {
        if let cluster { return cluster.publish(publication, on: address, origin: origin) }
        if let commits, commits.mustWait(publication, at: address) {
            commits.append(.publication(publication, origin()), on: address)
            return nil
        }
        if let key = publication.key {
            switch check(key, digest: publication.digest, at: address) {
            case .new: break
            case .repeated(let position):
                return .published(publication, on: address.name, at: position, isRepeated: true)
            case .conflicting: return .conflicting
            }
        }
        let stream = stream(of: publication, on: channel, at: address)
        if let expected = publication.ifPosition {
            let last = stream.map { state.streams[$0].position }
            guard expected == last else { return .outdated(last) }
        }
        if let commits, let stream, state.streams[stream].isStored {
            guard isArchived(stream, isDurable: publication.isDurable) else { return .unstored }
            if !commits.archive.isFailing {
                hold(.publication(publication, origin()), in: stream, at: address)
                return nil
            }
        }
        var frame: EventFrame?
        if channel != nil || stream != nil {
            let serial = stream.map { state.streams.nextSerial($0) } ?? 0
            frame = EventFrame(publication, channel: address.name, serial: serial)
        }
        return complete(publication, frame, in: stream, on: channel, at: address)
    }

    /// At the home: keeps an event that has its place in the channel's order, and sends it to the shards with
    /// subscribers.
    func complete(
        _ publication: Publication,
        _ frame: EventFrame?,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress,
        time: Int64? = nil
    ) -> PendingTrigger.Outcome {
        context.publishedCount &+= 1
        context.notify(.published, on: address, .published(publication))
        if address.name.kind.isCache, !publication.isEphemeral {
            cache(publication, in: stream, on: channel, at: address)
        }
        if let frame {
            if let stream {
                keep(frame, on: address, except: publication.except, in: stream, at: time)
            }
            if let channel {
                distribute(frame, on: channel, at: address, except: publication.except)
            }
        }
        guard publication.key != nil || publication.needsPosition else { return .accepted }
        let position = stream.map { state.streams[$0].position }
        if let key = publication.key {
            remember(key, digest: publication.digest, position: position, at: address)
        }
        return .published(publication, on: address.name, at: position, isRepeated: false)
    }

    /// At the home: the index of the stream that an event belongs to, if any.
    private func stream(
        of publication: Publication,
        on channel: Channel?,
        at address: ChannelAddress
    ) -> Int? {
        guard !publication.isEphemeral else { return nil }
        return publication.needsPosition
            ? openStream(at: address) : stream(of: channel, at: address)
    }

    /// At the home: assigns a client event its place in the channel's order, and sends it to the shards with
    /// subscribers.
    func sequence(
        _ event: ClientEvent,
        by author: ClientEventAuthor,
        on channel: Channel,
        at address: ChannelAddress
    ) {
        if let cluster { return cluster.publish(event, by: author, on: address) }
        let isKept = channel.home.stream.map { state.streams[$0].rule.keepsClientEvents } ?? true
        if let commits, commits.mustWait(event, isKept: isKept, at: address) {
            return commits.append(.clientEvent(event, author), on: address)
        }
        if let key = event.key {
            let digest = event.digest
            switch check(key, digest: digest, at: address) {
            case .new: break
            case .repeated: return sendReceipt(of: key, on: address, to: author)
            case .conflicting: return refuse(key, on: address, by: author)
            }
        }
        let stream = stream(of: channel, at: address).flatMap {
            state.streams[$0].rule.keepsClientEvents ? $0 : nil
        }
        if let commits, let stream, state.streams[stream].isStored {
            guard isArchived(stream, isDurable: false) else {
                return refuseUnstored(event, on: address, by: author)
            }
            if !commits.archive.isFailing {
                return hold(.clientEvent(event, author), in: stream, at: address)
            }
        }
        let serial = stream.map { state.streams.nextSerial($0) } ?? 0
        let frame = EventFrame(event, of: author.user, channel: address.name, serial: serial)
        complete(event, by: author, frame, in: stream, on: channel, at: address)
    }

    /// At the home: keeps a client event that has its place in the channel's order, and sends it to the shards with
    /// subscribers.
    func complete(
        _ event: ClientEvent,
        by author: ClientEventAuthor,
        _ frame: EventFrame,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress,
        time: Int64? = nil
    ) {
        context.publishedCount &+= 1
        context.notify(
            .clientEvents,
            on: address,
            .clientEvent(event, sender: author.socketID, userID: author.user)
        )
        if let stream {
            keep(frame, on: address, except: author.socketID, in: stream, at: time)
        }
        if let channel {
            distribute(
                frame,
                on: channel,
                at: address,
                except: author.socketID,
                receiptOf: event.key
            )
        }
        if let key = event.key {
            let position = stream.map { state.streams[$0].position }
            remember(key, digest: event.digest, position: position, at: address)
        }
    }

    // MARK: - Receipts

    /// At the home: notifies the sender that its client event got its place in the channel's order in an earlier
    /// attempt.
    private func sendReceipt(
        of key: IdempotencyKey,
        on address: ChannelAddress,
        to author: ClientEventAuthor
    ) {
        reply(.receipt(channel: address.name.text, key: key.text), to: author.socketID)
    }

    /// At the home: notifies the sender that another event has the key of its client event.
    func refuse(
        _ key: IdempotencyKey,
        on address: ChannelAddress,
        by author: ClientEventAuthor
    ) {
        let message =
            "Client event rejected - another event was sent to \(address.name.text) under the key \(key.text)"
        reply(.error(code: .clientEventRejected, message: message), to: author.socketID)
    }

    func reply(_ message: ServerMessage, to socketID: SocketID) {
        let shard = context.shard(of: socketID)
        guard shard != context.shard else { return receive(message, for: socketID) }
        context.links.send(.reply(message, to: socketID), to: shard)
    }

    /// Sends the reply of a home to a connection of this shard, which may have closed.
    func receive(_ message: ServerMessage, for socketID: SocketID) {
        connections[socketID]?.send(message)
    }

    /// At the home: sends a frame to all shards that have subscribers, including this one.
    ///
    /// The excepted connection does not get the frame. It gets the frame's serial if it tracks the channel, and a
    /// receipt under `key`.
    func distribute(
        _ frame: EventFrame,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey? = nil
    ) {
        let otherShards = channel.home.subscribers.otherShards
        for shard in otherShards {
            if let key, let except {
                let message = ShardMessage.fanOutWithReceipt(address, frame, key, sender: except)
                context.links.send(message, to: shard)
            } else {
                context.links.send(.fanOut(address, frame, except: except), to: shard)
            }
        }
        if !otherShards.isEmpty {
            channel.unconfirmedLength += Int32(clamping: frame.bytes.count)
            if channel.unconfirmedLength >= context.reactor.batchLengthMax {
                awaitConfirmation(of: channel, at: address, by: otherShards)
            }
        }
        fanOut(frame, on: channel, at: address, except: except, receiptOf: key)
    }

    /// Sends a frame that another shard's home has sequenced to this shard's own subscribers, except one.
    func fanOut(
        _ frame: EventFrame,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey? = nil
    ) {
        guard let channel = table[address] else { return }
        fanOut(frame, on: channel, at: address, except: except, receiptOf: key)
    }

    private func fanOut(
        _ frame: EventFrame,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey?
    ) {
        let excepted = except.flatMap { connections[$0] }
        let substitute = excepted?.substitute(for: frame, on: channel.name, receiptOf: key) ?? []
        let count = channel.fanOut(
            frame,
            except: excepted?.stream,
            substitute: substitute,
            compressing: deflaters
        )
        context.deliveredCount &+= count
        if context.isObserved(.frames) { trace(frame, subscriberCount: count, at: address) }
        if frame.serial != 0, !channel.confirming.isEmpty { confirmations.sent(on: channel) }
        if channel.isCongested { recordCongestion(of: channel, at: address) }
    }

    private func trace(_ frame: EventFrame, subscriberCount: Int, at address: ChannelAddress) {
        let text = FrameText.text(of: frame.bytes)
        let trace = FrameTrace.fannedOut(text, subscriberCount: subscriberCount, address)
        context.notify(.frames, of: address.app, .frame(trace))
    }
}

/// The result of publishing the events of a request.
enum PublishResult {
    /// All of its events are settled.
    case settled(PendingTrigger.Outcome)
    /// The homes of some channels have not reported yet.
    case pending(PendingTrigger)
}
