public import Foundation

/// The channels of a client that were subscribed to and not unsubscribed from.
open class PusherChannels: NSObject {
    private let lock = NSLock()
    private var table: [String: PusherChannel] = [:]
    /// The names in the order in which they were subscribed to.
    private var order: [String] = []

    /// The channels by name.
    ///
    /// A channel that is put in here is subscribed to by ``PusherConnection/connect()``, or with the next connection. One
    /// that is taken out hears nothing any more; ``Pusher/unsubscribe(_:)`` tells the broker too.
    open var channels: [String: PusherChannel] {
        get { lock.withLock { table } }
        set {
            let removed = lock.withLock { () -> [String: PusherChannel] in
                order.removeAll { newValue[$0] == nil }
                order += newValue.keys.filter { table[$0] == nil }.sorted()
                return exchange(&table, with: newValue)
            }
            // Their ends may call back: not under the lock.
            _ = removed
        }
    }

    /// The channel of this name, if there is one.
    public func find(name: String) -> PusherChannel? { lock.withLock { table[name] } }

    /// The presence channel of this name, if there is one.
    public func findPresence(name: String) -> PusherPresenceChannel? {
        find(name: name) as? PusherPresenceChannel
    }

    var inOrder: [PusherChannel] { lock.withLock { order.compactMap { table[$0] } } }

    func findOrAdd(_ name: String, _ make: () -> PusherChannel) -> PusherChannel {
        lock.withLock {
            if let known = table[name] { return known }
            let new = make()
            table[name] = new
            order.append(name)
            return new
        }
    }

    func remove(_ name: String) -> PusherChannel? {
        lock.withLock {
            order.removeAll { $0 == name }
            return table.removeValue(forKey: name)
        }
    }
}

/// The channel of all channels: those who are bound to every event.
open class GlobalChannel: PusherChannel {
    init(connection: PusherConnection) {
        super.init(name: "pusher_global_internal_channel", connection: connection)
    }

    /// The callbacks by their ids; those that are taken out are not called any more.
    open var globalCallbacks: [String: (PusherEvent) -> Void] {
        get { connection?.handlers.globalCallbacks ?? [:] }
        set { connection?.handlers.replaceGlobal(with: newValue) }
    }

    /// Ends all bindings to every event.
    open override func unbindAll() { connection?.handlers.removeGlobal() }

    /// Calls those who are bound to every event.
    open override func handleEvent(event: PusherEvent) {
        connection?.handlers.deliverGlobally(event)
    }
}
