import Foundation
import PusherProtocol

/// A callback bound to an event.
public struct EventHandler {
    let id: String
    let callback: (PusherEvent) -> Void
    /// Receives errors of the connection; set for global callbacks of the older API.
    var errorCallback: ((PusherError) -> Void)?
}

/// The callbacks of one client.
///
/// The callbacks are looked up when an event is delivered, not when it is received. A callback bound on the callback
/// queue right after `subscribe` therefore receives the channel's first event.
// SAFETY: the tables are only accessed under `lock`. The callbacks are only called on the client's callback queue,
// where a caller in language mode 5 expects them.
final class EventHandlers: @unchecked Sendable {
    private let lock = NSLock()
    /// The callbacks by channel and event.
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

    /// Replaces the callbacks of a channel.
    func replace(channel: String, with handlers: [String: [EventHandler]]) {
        let kept = handlers.filter { !$0.value.isEmpty }
        let removed = lock.withLock { exchange(&channels[channel], with: kept) }
        _ = removed
    }

    /// Replaces the global callbacks: known ones keep their order, new ones follow.
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

    /// The global callbacks by ID.
    var globalCallbacks: [String: (PusherEvent) -> Void] {
        let handlers = lock.withLock { global }
        return Dictionary(handlers.map { ($0.id, $0.callback) }) { first, _ in first }
    }

    // A removed callback may own anything, and its deinitialisation may call back, so it is released outside the lock.

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

    // MARK: Delivery, on the callback queue

    /// Calls the global callbacks, each with its own copy of the event.
    func deliverGlobally(_ event: PusherEvent) {
        for handler in lock.withLock({ global }) where isBound(handler) {
            handler.callback(event.copied())
        }
    }

    /// Calls the callbacks bound to a channel's event, each with its own copy of the event.
    func deliver(_ event: PusherEvent, on channel: String) {
        let bound = lock.withLock { channels[channel]?[event.eventName] ?? [] }
        for handler in bound where isBound(handler, channel, event.eventName) {
            handler.callback(event.copied())
        }
    }

    /// Calls the global callbacks that also receive errors of the connection.
    func deliver(_ error: PusherError) {
        for handler in lock.withLock({ global }) where isBound(handler) {
            handler.errorCallback?(error)
        }
    }

    /// Whether a callback is still bound: an earlier callback of the same event may have unbound it.
    private func isBound(_ handler: EventHandler) -> Bool {
        lock.withLock { global.contains { $0.id == handler.id } }
    }

    private func isBound(_ handler: EventHandler, _ channel: String, _ event: String) -> Bool {
        lock.withLock {
            channels[channel]?[event]?.contains { $0.id == handler.id } == true
        }
    }
}

extension JSONSerialization {
    /// Parses JSON text, with U+FFFD for half of a surrogate pair, which `JSONSerialization` refuses.
    static func value(of json: String, options: ReadingOptions = []) -> Any? {
        if let value = try? jsonObject(with: Data(json.utf8), options: options) { return value }
        return JSONEscapes.repaired(Array(json.utf8)).flatMap {
            try? jsonObject(with: Data($0), options: options)
        }
    }
}

/// The payloads for callbacks of `bind(eventName:callback:)` and `bind(_:)`.
struct LegacyPayload {
    /// Whether to parse the data as JSON.
    let attemptsJSON: Bool

    /// Returns a parsed JSON object or array, other data as text, and `nil` for no data.
    ///
    /// The result of `JSONSerialization` supports the casts of apps for Apple platforms, such as `as? [String:
    /// AnyObject]`.
    func value(of data: String?) -> Any? {
        guard let data, attemptsJSON else { return data }
        // Only objects and arrays, no fragments.
        return JSONSerialization.value(of: data) ?? data
    }

    /// Returns the members of an event for a global callback, with the data as text.
    func members(of event: PusherEvent) -> [String: Any] {
        var members: [String: Any] = ["event": event.eventName]
        if let data = event.data { members["data"] = data }
        if let channel = event.channelName { members["channel"] = channel }
        return members
    }

    /// Returns an error of the connection for a global callback, with the data as an object.
    func members(of error: PusherError) -> [String: Any] {
        var data: [String: Any] = ["message": error.message]
        if let code = error.code { data["code"] = code }
        return ["event": "pusher:error", "data": data]
    }
}
