import Broker
import PusherProtocol

extension ChannelService {
    /// At the home: continues the streams and keys of the archive.
    func restore(_ contents: ArchiveContents) {
        let now = context.milliseconds
        state.useArchive(
            RowNumbers(from: contents.nextRow, shard: context.shard, of: context.shardCount),
            contents.seeds
        )
        var streams: [Int64: (ChannelAddress, StreamID)] = [:]
        for (stream, isCurrent) in contents.streams
        where stream.address.home(among: context.shardCount) == context.shard {
            let settings = context.registry.apps[stream.address.app]?.recovery
            if let id = state.restore(stream, isCurrent: isCurrent, settings, at: now) {
                streams[stream.row] = (stream.address, id)
            }
        }
        for (row, serial, key) in contents.keys {
            guard let (address, id) = streams[row] else { continue }
            let position = ChannelPosition(stream: id, serial: serial)
            let expiry = key.expiry - context.calendarOffset
            state.restore(key, on: address, at: position, expiry: expiry)
        }
        startTimers()
    }

    /// At the home: the state that is only in memory.
    var spooled: SpooledState { state.spooled(calendarOffset: context.calendarOffset) }

    /// At the home: continues what an earlier run had in memory.
    func restore(_ spooled: SpooledState) {
        let apps = context.registry.apps
        state.restore(
            spooled.part(of: context.shard, among: context.shardCount),
            { apps[$0]?.recovery },
            at: context.milliseconds,
            calendarOffset: context.calendarOffset
        )
        startTimers()
    }
}
