import FanfareOutbox
import Primitives

/// Stores the newest position of each of a client's channels, one call of the store at a time.
final class PositionWriter: Sendable {
    /// The positions that are not stored yet, by channel.
    private final class Waiting: Sendable {
        let positions = Lock<[String: ChannelPosition]>([:])
    }

    private let store: any PositionStore
    private let waiting = Waiting()
    private let writing = StoreWriting()

    init(_ store: any PositionStore) { self.store = store }

    /// Stores a position that follows all earlier ones of the channel.
    func save(_ position: ChannelPosition, of channel: String) {
        waiting.positions.withLock { $0[channel] = position }
        writing.wake()
    }

    /// Reads the stored positions, none if that fails, then writes all changes; does nothing when called again.
    func start(
        loaded: @escaping @Sendable ([String: ChannelPosition]) -> Void,
        failed: @escaping @Sendable (any Error) -> Void
    ) {
        writing.start { [store] in
            do {
                let stored = try await store.positions().map {
                    ($0.channel, ChannelPosition(stream: $0.stream, serial: $0.serial))
                }
                loaded(Dictionary(stored) { _, last in last })
            } catch {
                failed(error)
                loaded([:])
            }
        } _: { [store, waiting] in
            await Self.write(waiting, to: store, failed)
        }
    }

    private static func write(
        _ waiting: Waiting,
        to store: any PositionStore,
        _ failed: @Sendable (any Error) -> Void
    ) async {
        let positions = waiting.positions.withLock { exchange(&$0, with: [:]) }
        guard !positions.isEmpty else { return }
        do {
            try await store.save(
                positions.map { channel, position in
                    StoredPosition(
                        channel: channel,
                        stream: position.stream,
                        serial: position.serial
                    )
                }
            )
        } catch {
            // The channel's next position is stored instead.
            failed(error)
        }
    }
}

/// The positions of a client's channels.
extension Fanfare {
    func position(of channel: String) -> ChannelPosition? {
        state.withLock { state in
            guard !state.session.subscriptions.hasLeft(channel) else { return nil }
            return state.handled[channel]?.position
        }
    }

    /// Reads the stored positions once; subscriptions wait for them.
    func loadPositions() {
        positionWriter?.start(
            loaded: { [weak self] positions in self?.act { $0.restore(positions) } },
            failed: { [weak self] in self?.report(.positionsFailed(reason: "\($0)")) }
        )
    }

    /// Begins to handle the message at a position; `nil` without a position.
    func handle(
        _ position: ChannelPosition?,
        of channel: String?,
        _ state: inout ClientState
    ) -> Handling? {
        guard let position, let channel else { return nil }
        // Events of the user, and gaps, have two kinds of listeners.
        if let last = state.handling, last.channel == channel, last.handling.position == position {
            return last.handling
        }
        let handled =
            state.handled[channel]
            ?? HandledPosition { [positionWriter] in positionWriter?.save($0, of: channel) }
        state.handled[channel] = handled
        let handling = handled.begin(position)
        state.handling = (channel, handling)
        return handling
    }

    /// Removes the position of a channel that is no longer in use, unless the app stores it or may continue there.
    func forgetPosition(of channel: String, _ state: inout ClientState) {
        if positionWriter != nil, let position = state.handled[channel]?.position {
            state.session.storedPositions[channel] = position
        }
        // What the app is still handling precedes what it receives when it continues.
        guard !state.session.subscriptions.hasLeft(channel) else { return }
        state.handled[channel] = nil
    }
}
