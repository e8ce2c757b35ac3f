package import Broker
import Net
import PusherProtocol

// The answers of the homes of channels to queries.

extension LocalChannels {
    func answer(_ query: ShardQuery, _ finish: @escaping (HomeAnswer) -> Void) {
        finish(answer(query))
    }

    private func answer(_ query: ShardQuery) -> HomeAnswer {
        switch query {
        case .counts(let addresses): return .success(addresses.map { channels.count(of: $0) })
        case .terminate: return .success([])
        case .users(let address):
            var count = channels.count(of: address)
            count.users = channels.table[address]?.home.presence.members.map(\.id) ?? []
            return .success([count])
        case .cached(let address):
            var count = channels.count(of: address)
            count.cache = channels.cacheAttribute(of: address)
            return .success([count])
        case .state(let address):
            var count = channels.count(of: address)
            if address.name.kind.isCache { count.cache = channels.cacheAttribute(of: address) }
            count.position = channels.openStream(at: address)
                .map { channels.state.streams[$0].position }
            return .success([count])
        case .trace(let address, let serial):
            guard channels.keepsMessages(at: address) else { return .failure(.keepsNothing) }
            var count = channels.count(of: address)
            count.trace = channels.state.streams.index(of: address).map {
                channels.state.streams[$0]
                    .trace(
                        serial,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
            }
            return .success([count])
        case .purge(let address): return .success([channels.purge(address)])
        case .history(let address, let query, _):
            guard channels.keepsMessages(at: address) else { return .failure(.keepsNothing) }
            var count = channels.count(of: address)
            count.history = channels.openStream(at: address).map {
                channels.state.streams[$0]
                    .history(
                        query,
                        at: context.milliseconds,
                        calendarOffset: context.calendarOffset
                    )
            }
            return .success([count])
        }
    }
}

extension ChannelService {
    /// Whether the app of a channel keeps messages, as of the last reload.
    package func keepsMessages(at address: ChannelAddress) -> Bool {
        context.registry.apps[address.app]?.recovery.isEnabled == true
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
    func cacheAttribute(of address: ChannelAddress) -> ChannelAttributes.Cache {
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
