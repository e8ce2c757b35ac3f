import Broker
import Net
import PusherProtocol

// The answers of the homes of channels to queries.

extension LocalChannels {
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        finish(answer(query))
    }

    private func answer(_ query: ShardQuery) -> HomeAnswer {
        if case .counts(let addresses) = query {
            return .success(addresses.map { channels.table.count(of: $0) })
        }
        guard let address = query.address else { return .success([]) }
        var count = channels.table.count(of: address)
        let (now, offset) = (context.milliseconds, context.calendarOffset)
        switch query {
        case .counts, .terminate: break
        case .users: count.users = channels.table[address]?.home.presence.members.map(\.id) ?? []
        case .cached: count.cache = cacheAttribute(of: address)
        case .state:
            if address.name.kind.isCache { count.cache = cacheAttribute(of: address) }
            count.position = channels.openStream(at: address)
                .map { channels.state.streams[$0].position }
        case .trace(_, let serial):
            guard context.keepsMessages(at: address) else { return .failure(.keepsNothing) }
            count.trace = channels.state.streams.index(of: address)
                .map { channels.state.streams[$0].trace(serial, at: now, calendarOffset: offset) }
        case .history(_, let page, _):
            guard context.keepsMessages(at: address) else { return .failure(.keepsNothing) }
            count.history = channels.openStream(at: address)
                .map { channels.state.streams[$0].history(page, at: now, calendarOffset: offset) }
        case .purge: count = channels.purge(address)
        }
        return .success([count])
    }

    /// The cached event of a channel, in the form for backends.
    private func cacheAttribute(of address: ChannelAddress) -> ChannelAttributes.Cache {
        let now = context.milliseconds
        guard let entry = channels.state.cachedEvent(of: address, at: now) else { return .empty }
        return .event(
            dataToken: entry.publication.dataToken,
            secondsLeft: Int((entry.expiry - now + 999) / 1_000)
        )
    }
}

extension ChannelTable {
    /// The numbers of subscribers and users of a channel whose home is this shard.
    func count(of address: ChannelAddress) -> ChannelCount {
        let home = self[address]?.home
        return ChannelCount(
            name: address.name,
            subscriptionCount: home?.subscribers.total ?? 0,
            userCount: home?.presence.members.count ?? 0
        )
    }

    /// Returns a portion of the channels whose home is this shard.
    func portion(of range: ChannelRange) -> ChannelPortion {
        let occupied = occupiedNames(of: range.app)
        let (names, isComplete) = occupied.names(
            after: range.cursor,
            startingWith: range.prefix,
            limit: range.limit
        )
        let entries = names.map { name in
            guard !range.info.isEmpty,
                let home = self[ChannelAddress(app: range.app, name: name)]?.home
            else { return ChannelPortion.Entry(name: name) }
            return ChannelPortion.Entry(
                name: name,
                subscriptionCount: home.subscribers.total,
                userCount: home.presence.members.count
            )
        }
        return ChannelPortion(
            entries: entries,
            isComplete: isComplete,
            occupiedCount: occupied.count
        )
    }
}
