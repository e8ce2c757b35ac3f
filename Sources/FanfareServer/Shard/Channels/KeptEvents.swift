import Broker
import PusherProtocol

/// The home's state about published events: cached events, idempotency keys and streams.
extension ChannelService {
    // MARK: - Cache channels

    /// At the home: caches an event for later subscribers.
    func cache(
        _ publication: Publication,
        in stream: Int?,
        on channel: Channel?,
        at address: ChannelAddress
    ) {
        let effects = state.cache(
            publication,
            numbered: stream.map { state.nextPosition($0) },
            on: address,
            of: context.registry.apps[address.app],
            at: context.milliseconds
        )
        perform(effects, on: channel, at: address)
    }

    /// At the home: checks the idempotency key of an event.
    func check(
        _ key: IdempotencyKey,
        digest: UInt64,
        at address: ChannelAddress
    ) -> PublishedKeys.Verdict {
        state.check(key, digest: digest, on: address, at: context.milliseconds)
    }

    /// At the home: remembers the new idempotency key of an event that is sequenced.
    func remember(
        _ key: IdempotencyKey,
        digest: UInt64,
        position: ChannelPosition?,
        at address: ChannelAddress
    ) {
        let effects = state.remember(
            key,
            digest: digest,
            position: position,
            on: address,
            of: context.registry.apps[address.app],
            at: context.milliseconds
        )
        perform(effects, on: nil, at: address)
    }

    // MARK: - Streams

    /// At the home: the index of the stream that a message belongs to; `nil` if its channel has none, like most.
    func stream(of channel: Channel?, at address: ChannelAddress) -> Int? {
        if let channel, let stream = channel.home.stream { return stream }
        let keepsAlways = context.registry.keepsMessagesAlways
        guard channel == nil ? keepsAlways || !state.streams.isEmpty : keepsAlways else {
            return nil
        }
        let app = keepsAlways ? context.registry.apps[address.app] : nil
        guard let channel else {
            guard !context.faults.contains(.skipsVacantStreams) else { return nil }
            let stream = state.stream(ofVacant: address, app, at: context.milliseconds)
            reportInsertionLimit(of: address.app)
            startTimers()
            return stream
        }
        channel.home.keepAlways(address, app, sharing: &state, at: context.milliseconds)
        return channel.home.stream
    }

    /// At the home: the index of the channel's stream, which begins here if there is none; `nil` in an app without
    /// recovery.
    func openStream(at address: ChannelAddress) -> Int? {
        let (app, now) = (context.registry.apps[address.app], context.milliseconds)
        defer {
            reportInsertionLimit(of: address.app)
            startTimers()
        }
        guard let channel = table[address], !channel.home.isVacant else {
            return state.openStream(address, app, isVacant: true, at: now)
        }
        channel.home.openStream(address, app, sharing: &state, at: now)
        return channel.home.stream
    }

    /// Counts that a stream was forgotten for a new one.
    private func reportInsertionLimit(of app: AppID) {
        if let limit = state.takeInsertionLimit() { context.limitMet(limit, of: app) }
    }

    /// At the home: keeps a numbered message, which one connection does not get.
    ///
    /// `time` is when the message got its serial; `nil` for now.
    func keep(
        _ frame: EventFrame,
        on address: ChannelAddress,
        except: SocketID?,
        in stream: Int,
        at time: Int64? = nil
    ) {
        let now = time ?? context.milliseconds
        if let limit = state.keep(frame.bytes, except: except, in: stream, at: now) {
            context.limitMet(limit, of: address.app)
        }
    }

    /// How long the messages of each app are kept at present, in seconds.
    var recoveryWindows: [AppID: Int] {
        var windows: [AppID: Int] = [:]
        for app in context.registry.ids {
            windows[app] = state.streams.window(of: app, at: context.milliseconds)
        }
        return windows
    }
}
