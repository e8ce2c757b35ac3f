/// Writes the JSON text with which a backend describes a user to the broker.
package enum UserDescription {
    /// The `user_data` of a sign-in: an object with `id` and, if present, `user_info` and `watchlist`.
    ///
    /// - Parameters:
    ///   - id: The user's id.
    ///   - info: The user info as a JSON object, or `nil`.
    ///   - watchlist: The ids of the users whose online status the user receives.
    /// - Returns: The JSON text.
    package static func signIn(id: String, info: String?, watchlist: [String] = []) -> String {
        object("id", id, info: info, watchlist: watchlist)
    }

    /// The `channel_data` of a subscription to a presence channel: an object with `user_id` and, if present,
    /// `user_info`.
    ///
    /// - Parameters:
    ///   - id: The user's id.
    ///   - info: The user info as a JSON object, or `nil`.
    /// - Returns: The JSON text.
    package static func member(id: String, info: String?) -> String {
        object("user_id", id, info: info, watchlist: [])
    }

    private static func object(
        _ idName: String,
        _ id: String,
        info: String?,
        watchlist: [String]
    ) -> String {
        var json = JSONWriter()
        json.beginObject()
        json.name(idName)
        json.string(id)
        if let info {
            json.name("user_info")
            json.verbatim(Array(info.utf8))
        }
        if !watchlist.isEmpty {
            json.name("watchlist")
            json.beginArray()
            for user in watchlist { json.string(user) }
            json.endArray()
        }
        json.endObject()
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
