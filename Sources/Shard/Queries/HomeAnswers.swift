package import Broker
import Net
import PusherProtocol

// The answers of the homes of channels to queries.

extension ChannelService {
    /// Answers a query for channels whose home is this shard.
    func answer(_ query: ShardQuery) -> [ChannelCount] {
        switch query {
        case .counts(let addresses): return addresses.map { count(of: $0) }
        case .terminate: return []
        case .users(let address):
            var count = count(of: address)
            count.users = table[address]?.home.presence.members.map(\.id) ?? []
            return [count]
        case .cached(let address):
            var count = count(of: address)
            count.cache = cacheAttribute(of: address)
            return [count]
        case .state(let address):
            var count = count(of: address)
            if address.name.kind.isCache { count.cache = cacheAttribute(of: address) }
            count.position = openStream(at: address).map { state.streams[$0].position }
            return [count]
        case .trace(let address, let serial):
            guard keepsMessages(at: address) else { return [failed(address, .keepsNothing)] }
            var count = count(of: address)
            count.trace = state.streams.index(of: address).map {
                state.streams[$0]
                    .trace(
                        serial,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
            }
            return [count]
        case .purge(let address):
            let position = purge(address)
            var count = count(of: address)
            count.position = position
            return [count]
        case .history(let address, let query, _):
            guard keepsMessages(at: address) else { return [failed(address, .keepsNothing)] }
            var count = count(of: address)
            count.history = openStream(at: address).map {
                state.streams[$0]
                    .history(
                        query,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
            }
            return [count]
        }
    }

    /// Whether the app of a channel keeps messages, as of the last reload.
    package func keepsMessages(at address: ChannelAddress) -> Bool {
        context.registry.apps[address.app]?.recovery.isEnabled == true
    }

    /// The answer to a query about a channel's kept data that cannot be read.
    func failed(_ address: ChannelAddress, _ failure: QueryFailure) -> ChannelCount {
        var count = count(of: address)
        count.failure = failure
        return count
    }

    func count(of address: ChannelAddress) -> ChannelCount {
        let home = table[address]?.home
        return ChannelCount(
            name: address.name,
            subscriptionCount: home?.subscribers.total ?? 0,
            userCount: home?.presence.members.count ?? 0
        )
    }

    /// The cached event of a channel, in the form for backends.
    private func cacheAttribute(of address: ChannelAddress) -> ChannelAttributes.Cache {
        let now = context.milliseconds
        guard let entry = state.cachedEvent(of: address, at: now) else { return .empty }
        return .event(
            dataToken: entry.publication.dataToken,
            secondsLeft: Int((entry.expiry - now + 999) / 1_000)
        )
    }
}

extension ChannelTable {
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
