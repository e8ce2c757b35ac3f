import Foundation

/// What `bind(eventName:callback:)` hands to its callback.
struct LegacyPayload {
    /// Whether to parse.
    let attemptsJSON: Bool

    /// The object or array that the data is the JSON of; any other data as its text; `nil` for none.
    ///
    /// What `JSONSerialization` makes passes the casts that apps written for Apple's platforms
    /// rely on, such as `as? [String: AnyObject]`.
    func value(of data: String?) -> Any? {
        guard let data, attemptsJSON else { return data }
        // Objects and arrays only, without the option for fragments.
        return (try? JSONSerialization.jsonObject(with: Data(data.utf8), options: [])) ?? data
    }

    /// What a global callback gets: the event's members, the data as its text.
    func members(of event: PusherEvent) -> [String: Any] {
        var members: [String: Any] = ["event": event.eventName]
        if let data = event.data { members["data"] = data }
        if let channel = event.channelName { members["channel"] = channel }
        return members
    }

    /// What a global callback gets for a fault of the connection: here the data is an object.
    func members(of error: PusherError) -> [String: Any] {
        var data: [String: Any] = ["message": error.message]
        if let code = error.code { data["code"] = code }
        return ["event": "pusher:error", "data": data]
    }
}
