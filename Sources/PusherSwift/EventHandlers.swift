import Foundation

/// A callback that is bound to an event.
public struct EventHandler {
    let id: String
    let callback: (PusherEvent) -> Void
    /// What a global callback of the older spelling gets for a fault of the connection.
    var errorCallback: ((PusherError) -> Void)?
}

/// The callbacks of one client, looked up when an event is delivered and not when it arrives: what is bound right behind
/// `subscribe` on the callbacks' queue hears the channel's first event.
// SAFETY: the tables are only touched under `lock`; the callbacks in them are called on the client's callback queue alone,
// which is where a caller in language mode 5 expects them.
final class EventHandlers: @unchecked Sendable {
    private let lock = NSLock()
    /// By channel, then by event.
    private var channels: [String: [String: [EventHandler]]] = [:]
    private var global: [EventHandler] = []

    func add(_ callback: @escaping (PusherEvent) -> Void, channel: String, event: String) -> String
    {
        let handler = EventHandler(id: UUID().uuidString, callback: callback)
        lock.withLock { channels[channel, default: [:]][event, default: []].append(handler) }
        return handler.id
    }

    func addGlobal(
        _ callback: @escaping (PusherEvent) -> Void,
        errors: ((PusherError) -> Void)? = nil
    ) -> String {
        let id = UUID().uuidString
        let handler = EventHandler(id: id, callback: callback, errorCallback: errors)
        lock.withLock { global.append(handler) }
        return id
    }

    /// Keeps these callbacks of a channel and no others.
    func replace(channel: String, with handlers: [String: [EventHandler]]) {
        let kept = handlers.filter { !$0.value.isEmpty }
        let removed = lock.withLock { exchange(&channels[channel], with: kept) }
        _ = removed
    }

    /// Keeps these callbacks for every event and no others: known ones in their order, then new ones.
    func replaceGlobal(with callbacks: [String: (PusherEvent) -> Void]) {
        let removed = lock.withLock { () -> [EventHandler] in
            let before = global
            let known = Set(before.map(\.id))
            global.removeAll { callbacks[$0.id] == nil }
            for (id, callback) in callbacks.sorted(by: { $0.key < $1.key })
            where !known.contains(id) {
                global.append(EventHandler(id: id, callback: callback))
            }
            return before
        }
        _ = removed
    }

    func handlers(channel: String) -> [String: [EventHandler]] {
        lock.withLock { channels[channel] ?? [:] }
    }

    /// The callbacks for every event, by their ids.
    var globalCallbacks: [String: (PusherEvent) -> Void] {
        let handlers = lock.withLock { global }
        return Dictionary(handlers.map { ($0.id, $0.callback) }) { first, _ in first }
    }

    // A removed callback may own anything, and its end may call back: never under the lock.

    func remove(id: String, channel: String, event: String) {
        let removed = lock.withLock { () -> [EventHandler]? in
            let before = channels[channel]?[event]
            channels[channel]?[event]?.removeAll { $0.id == id }
            return before
        }
        _ = removed
    }

    func removeAll(channel: String, event: String? = nil) {
        let removed = lock.withLock { () -> [String: [EventHandler]]? in
            let before = channels[channel]
            if let event { channels[channel]?[event] = nil } else { channels[channel] = nil }
            return before
        }
        _ = removed
    }

    func removeGlobal(id: String? = nil) {
        let removed = lock.withLock { () -> [EventHandler] in
            let before = global
            if let id { global.removeAll { $0.id == id } } else { global = [] }
            return before
        }
        _ = removed
    }

    // MARK: Delivery, on the callbacks' queue

    /// Calls those who are bound to every event; each gets a copy of its own.
    func deliverGlobally(_ event: PusherEvent) {
        for handler in lock.withLock({ global }) where isBound(handler) {
            handler.callback(event.copied())
        }
    }

    /// Calls those who are bound to an event of a channel; each gets a copy of its own.
    func deliver(_ event: PusherEvent, on channel: String) {
        let bound = lock.withLock { channels[channel]?[event.eventName] ?? [] }
        for handler in bound where isBound(handler, channel, event.eventName) {
            handler.callback(event.copied())
        }
    }

    /// Calls the global callbacks that get faults of the connection too.
    func deliver(_ error: PusherError) {
        for handler in lock.withLock({ global }) where isBound(handler) {
            handler.errorCallback?(error)
        }
    }

    /// An earlier callback of the same event may have unbound this one.
    private func isBound(_ handler: EventHandler) -> Bool {
        lock.withLock { global.contains { $0.id == handler.id } }
    }

    private func isBound(_ handler: EventHandler, _ channel: String, _ event: String) -> Bool {
        lock.withLock {
            channels[channel]?[event]?.contains { $0.id == handler.id } == true
        }
    }
}
