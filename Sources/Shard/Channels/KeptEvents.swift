package import Broker
package import PusherProtocol

/// The streams of the home's channels.
extension ChannelService {
    /// At the home: the index of the channel's stream, which begins here if there is none; `nil` in an app without
    /// recovery.
    func openStream(at address: ChannelAddress) -> Int? {
        let (app, now) = (context.registry.apps[address.app], context.milliseconds)
        defer { streamMayHaveBegun(at: address) }
        guard let channel = table[address], !channel.home.isVacant else {
            return state.openStream(address, app, isVacant: true, at: now)
        }
        channel.home.openStream(address, app, sharing: &state, at: now)
        return channel.home.stream
    }

    /// Counts that a stream was forgotten for a new one, and expires the new one's messages.
    func streamMayHaveBegun(at address: ChannelAddress) {
        if let limit = state.takeInsertionLimit() { context.limitMet(limit, of: address.app) }
        startTimers()
    }

    /// At the home: keeps a numbered message, which one connection does not get.
    package func keep(
        _ envelope: Envelope,
        on address: ChannelAddress,
        except: SocketID?,
        in stream: Int
    ) {
        let now = context.milliseconds
        if let limit = state.keep(envelope, except: except, in: stream, at: now) {
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
