package import Broker
import Net
package import PusherProtocol

/// The path of an event: publish to the channel's home, sequence there, fan out on each shard that has subscribers.
extension ChannelService {
    // MARK: - Publishing

    /// The limit that prevents publishing at present: on events in transit to homes, or on memory for received data.
    package var publishLimit: Limit? {
        if context.links.areBehind(limit: context.settings.relayedEventsMax) {
            return .relayedEvents
        }
        return context.reactor.inbound.isExhausted ? .inboundBytes : nil
    }

    /// The limit that prevents publishing events on stored channels at present.
    package func archiveLimit(of publications: [Publication], _ app: App) -> Limit? {
        guard isArchiveFull else { return nil }
        let isConcerned = publications.contains { publication in
            publication.channels.contains { context.isStored($0, of: app) }
        }
        return isConcerned ? .unstoredBytes : nil
    }

    /// The limit that prevents publishing a client event at present.
    func archiveLimit(of channel: ChannelName, _ app: App) -> Limit? {
        isArchiveFull && context.isStored(channel, of: app) ? .unstoredBytes : nil
    }

    private var isArchiveFull: Bool {
        guard let archive = context.archive else { return false }
        return archive.unstoredByteCount >= context.settings.unstoredBytesMax
    }

    /// Publishes the events of one request, in their order, each on one channel or several.
    ///
    /// - Returns: The pending trigger, or the outcome if all events are settled already.
    package func publish(_ publications: [Publication], of app: AppID) -> PublishResult {
        var pending: PendingTrigger?
        var settled: PendingTrigger.Outcome?
        for publication in publications {
            let event = ProposedEvent.publication(publication)
            for name in publication.channels {
                let address = ChannelAddress(app: app, name: name)
                let home = context.home(of: address)
                let channel = home == context.shard ? table[address] : nil
                func addEvent() -> PendingTrigger {
                    let trigger =
                        pending
                        ?? outcomes.triggers.begin(
                            isRefusable: publications.count == 1
                                && publications.first?.channels.count == 1
                        )
                    pending = trigger
                    trigger.addEvent()
                    return trigger
                }
                if home == context.shard, channel?.backlog?.hasRoom ?? true {
                    let outcome = authority.publish(event, on: channel, at: address) {
                        .here(addEvent())
                    }
                    if let outcome { settled = settled?.combined(with: outcome) ?? outcome }
                    continue
                }
                let trigger = addEvent()
                if let backlog = channel?.backlog {
                    congestion.enqueue(Proposal(event, by: .here(trigger)), in: backlog)
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
        let proposal = Proposal(.publication(publication), by: .elsewhere(receipt))
        guard !receipt.isRefusable || !context.reactor.inbound.isExhausted else {
            return outcomes.refuseLater(proposal, at: address)
        }
        let channel = table[address]
        if let backlog = channel?.backlog, !backlog.hasRoom {
            return congestion.enqueue(proposal, in: backlog)
        }
        sequence(proposal, on: channel, at: address)
    }

    /// Sequences a client event, as soon as the subscribers have room for it.
    func receive(_ event: ClientEvent, by sender: SocketID, on address: ChannelAddress) {
        // The sender is subscribed: its subscription arrived over the same link, as will its unsubscription.
        guard let channel = table[address],
            let author = channel.home.author(sender, on: address.name)
        else { return }
        let proposal = Proposal(.clientEvent(event, author), by: .author)
        if let backlog = channel.backlog, !backlog.hasRoom { return backlog.append(proposal) }
        sequence(proposal, on: channel, at: address)
    }

    /// At the home: assigns an event its place in the channel's order, and tells its publisher the outcome.
    func sequence(_ proposal: Proposal, on channel: Channel?, at address: ChannelAddress) {
        let outcome = authority.publish(proposal.event, on: channel, at: address) {
            proposal.publisher
        }
        if let outcome { outcomes.settle(proposal, outcome, at: address) }
    }

    // MARK: - Sending

    /// At the home: sends a message to all shards that have subscribers, including this one.
    ///
    /// The excepted connection does not get the message. It gets the message's serial if it tracks the channel, and a
    /// receipt under `key`.
    package func distribute(
        _ message: ChannelMessage,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey? = nil
    ) {
        let otherShards = channel.home.subscribers.otherShards
        for shard in otherShards {
            if let key, let except {
                context.links.send(
                    .fanOutWithReceipt(address, message, key, sender: except),
                    to: shard
                )
            } else {
                context.links.send(.fanOut(address, message, except: except), to: shard)
            }
        }
        if !otherShards.isEmpty {
            channel.unconfirmedLength += Int32(clamping: message.envelope.byteCount)
            if channel.unconfirmedLength >= context.reactor.batchLengthMax {
                congestion.awaitConfirmation(of: channel, at: address, by: otherShards)
            }
        }
        fanOut(message, on: channel, at: address, except: except, receiptOf: key)
    }

    /// Sends a message that another shard's home has sequenced to this shard's own subscribers, except one.
    package func fanOut(
        _ message: ChannelMessage,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey? = nil
    ) {
        guard let channel = table[address] else { return }
        fanOut(message, on: channel, at: address, except: except, receiptOf: key)
    }

    private func fanOut(
        _ message: ChannelMessage,
        on channel: Channel,
        at address: ChannelAddress,
        except: SocketID?,
        receiptOf key: IdempotencyKey?
    ) {
        let excepted = except.flatMap { connections[$0] }
        let substitute = excepted?.substitute(for: message, on: channel.name, receiptOf: key) ?? []
        let count = channel.fanOut(
            message,
            except: excepted?.stream,
            substitute: substitute
        )
        context.deliveredCount &+= count
        if context.isObserved(.frames) { trace(message, subscriberCount: count, at: address) }
        if message.serial != 0, !channel.confirming.isEmpty { confirmations.sent(on: channel) }
        if channel.isCongested { congestion.record(on: channel, at: address) }
    }

    private func trace(_ message: ChannelMessage, subscriberCount: Int, at address: ChannelAddress)
    {
        let text = String(decoding: message.envelope.text, as: UTF8.self)
        let trace = FrameTrace.fannedOut(text, subscriberCount: subscriberCount, address)
        context.notify(.frames, of: address.app, .frame(trace))
    }
}

/// The result of publishing the events of a request.
package enum PublishResult {
    /// All of its events are settled.
    case settled(PendingTrigger.Outcome)
    /// The homes of some channels have not reported yet.
    case pending(PendingTrigger)
}
