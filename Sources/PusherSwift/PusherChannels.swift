public import Foundation

/// The subscribed channels of a client.
open class PusherChannels: NSObject {
    private let lock = NSLock()
    private var table: [String: PusherChannel] = [:]
    /// The names in the order of subscription.
    private var order: [String] = []

    /// The channels by name.
    ///
    /// ``PusherConnection/connect()`` and the next connection subscribe to channels that the app adds here. A channel
    /// that the app removes here receives no more events; ``Pusher/unsubscribe(_:)`` also unsubscribes at the broker.
    open var channels: [String: PusherChannel] {
        get { lock.withLock { table } }
        set {
            let removed = lock.withLock { () -> [String: PusherChannel] in
                order.removeAll { newValue[$0] == nil }
                order += newValue.keys.filter { table[$0] == nil }.sorted()
                return exchange(&table, with: newValue)
            }
            // Their deinitialisation may call back, so they are released outside the lock.
            _ = removed
        }
    }

    /// Returns the channel with this name, if there is one.
    public func find(name: String) -> PusherChannel? { lock.withLock { table[name] } }

    /// Returns the presence channel with this name, if there is one.
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

/// A channel that receives the events of all channels.
open class GlobalChannel: PusherChannel {
    init(connection: PusherConnection) {
        super.init(name: "pusher_global_internal_channel", connection: connection)
    }

    /// The callbacks by ID.
    ///
    /// Callbacks that the app removes are no longer called.
    open var globalCallbacks: [String: (PusherEvent) -> Void] {
        get { connection?.handlers.globalCallbacks ?? [:] }
        set { connection?.handlers.replaceGlobal(with: newValue) }
    }

    /// Ends all global bindings.
    open override func unbindAll() { connection?.handlers.removeGlobal() }

    /// Calls the global callbacks.
    open override func handleEvent(event: PusherEvent) {
        connection?.handlers.deliverGlobally(event)
    }
}
