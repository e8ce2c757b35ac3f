internal import PusherProtocol

/// An observer of the broker's events, such as webhooks and metrics.
public protocol BrokerObserver: AnyObject, Sendable {
    /// The kinds of events of an app to observe, or of no app (`nil`); read at the start, and again when the apps are
    /// replaced.
    func observedKinds(of app: AppID?) -> BrokerEventKinds

    /// Called on the thread of the shard where the event happened, in order.
    ///
    /// It must not block the loop. The event is of a kind in ``observedKinds(of:)``; `app` is the app it belongs to, if
    /// any.
    func observe(_ event: BrokerEvent, of app: AppID?)
}

/// The observers of one shard.
///
/// While no observer requests a kind of event, reporting one costs a test of a bit, and the event is not created.
public struct BrokerObservers {
    private struct Entry {
        let observer: any BrokerObserver
        var kinds: [AppID: BrokerEventKinds] = [:]
        var kindsWithoutApp: BrokerEventKinds = []

        func observes(_ kind: BrokerEventKinds, of app: AppID?) -> Bool {
            guard let app else { return kindsWithoutApp.contains(kind) }
            return kinds[app]?.contains(kind) == true
        }
    }

    private var entries: [Entry]
    /// The kinds that any observer requests, of any app.
    public private(set) var kinds: BrokerEventKinds = []

    /// Creates a list of observers, which receive nothing until ``update(apps:)``.
    public init(_ observers: [any BrokerObserver] = []) {
        entries = observers.map { Entry(observer: $0) }
    }

    /// Reads the requested kinds from the observers again, for all apps that are served.
    public mutating func update(apps: some Sequence<AppID>) {
        kinds = []
        let apps = Array(apps)
        for index in entries.indices {
            let observer = entries[index].observer
            entries[index].kindsWithoutApp = observer.observedKinds(of: nil)
            kinds.formUnion(entries[index].kindsWithoutApp)
            entries[index].kinds = [:]
            for app in apps {
                let wanted = observer.observedKinds(of: app)
                guard !wanted.isEmpty else { continue }
                entries[index].kinds[app] = wanted
                kinds.formUnion(wanted)
            }
        }
    }

    /// Reports an event of an app, or of none, to the observers that request its kind.
    ///
    /// The event is evaluated only if any observer requests its kind.
    public func notify(
        _ kind: BrokerEventKinds,
        of app: AppID?,
        _ event: @autoclosure () -> BrokerEvent
    ) {
        guard kinds.contains(kind) else { return }
        for entry in entries where entry.observes(kind, of: app) {
            entry.observer.observe(event(), of: app)
        }
    }

    /// Reports an event of a channel.
    ///
    /// Of users' own channels (`#server-to-user-…`), only events of backends are reported, as
    /// ``BrokerEventKinds/userEvents``.
    public func notify(
        _ kind: BrokerEventKinds,
        on address: ChannelAddress,
        _ event: @autoclosure () -> ChannelEvent
    ) {
        let kind = address.name.kind == .serverToUser ? kind.ofUserChannel : kind
        guard !kind.isEmpty, kinds.contains(kind) else { return }
        notify(kind, of: address.app, .channel(event(), address))
    }
}
