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
    /// An observer, and the kinds that it requests.
    private struct Entry {
        let observer: any BrokerObserver
        let kinds: BrokerEventKinds

        /// `nil` for an observer that requests nothing.
        init?(_ observer: any BrokerObserver, of app: AppID?) {
            kinds = observer.observedKinds(of: app)
            self.observer = observer
            if kinds.isEmpty { return nil }
        }
    }

    /// The observers of one app, or of no app, and the kinds that any of them requests.
    private struct Audience {
        var entries: [Entry] = []
        var kinds: BrokerEventKinds = []

        init() {}

        init(of app: AppID?, among observers: [any BrokerObserver]) {
            entries = observers.compactMap { Entry($0, of: app) }
            kinds = entries.reduce([]) { $0.union($1.kinds) }
        }
    }

    private let observers: [any BrokerObserver]
    /// By app; an event costs one lookup at most, however many there are.
    private var audiences: [AppID?: Audience] = [:]
    /// The last event's app and its audience: most events are of the same app as the one before.
    private var lastApp: AppID?
    private var last = Audience()
    /// The kinds that any observer requests, of any app.
    public private(set) var kinds: BrokerEventKinds = []

    /// Creates a list of observers, which receive nothing until ``update(apps:)``.
    public init(_ observers: [any BrokerObserver] = []) { self.observers = observers }

    /// Reads the requested kinds from the observers again, for all apps that are served.
    public mutating func update(apps: some Sequence<AppID>) {
        audiences = [nil: Audience(of: nil, among: observers)]
        for app in apps { audiences[app] = Audience(of: app, among: observers) }
        kinds = audiences.values.reduce([]) { $0.union($1.kinds) }
        select(nil)
    }

    private mutating func select(_ app: AppID?) {
        lastApp = app
        last = audiences[app] ?? Audience()
    }

    /// Reports an event of an app, or of none, to the observers that request its kind.
    ///
    /// The event is evaluated only if any observer requests its kind.
    public mutating func notify(
        _ kind: BrokerEventKinds,
        of app: AppID?,
        _ event: @autoclosure () -> BrokerEvent
    ) {
        guard kinds.contains(kind) else { return }
        if lastApp != app { select(app) }
        guard last.kinds.contains(kind) else { return }
        for entry in last.entries where entry.kinds.contains(kind) {
            entry.observer.observe(event(), of: app)
        }
    }

    /// Reports an event of a channel.
    ///
    /// Of users' own channels (`#server-to-user-…`), only events of backends are reported, as
    /// ``BrokerEventKinds/userEvents``.
    public mutating func notify(
        _ kind: BrokerEventKinds,
        on address: ChannelAddress,
        _ event: @autoclosure () -> ChannelEvent
    ) {
        let kind = address.name.kind == .serverToUser ? kind.ofUserChannel : kind
        guard !kind.isEmpty, kinds.contains(kind) else { return }
        notify(kind, of: address.app, .channel(event(), address))
    }
}
