public import Foundation

/// The channels of a client that were subscribed to and not unsubscribed from.
open class PusherChannels: NSObject {
    private let lock = NSLock()
    private var table: [String: PusherChannel] = [:]
    /// The names in the order in which they were subscribed to.
    private var order: [String] = []

    /// The channels by name.
    open var channels: [String: PusherChannel] { lock.withLock { table } }

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

    /// The callbacks by their ids.
    open var globalCallbacks: [String: (PusherEvent) -> Void] {
        connection?.handlers.globalCallbacks ?? [:]
    }
}
