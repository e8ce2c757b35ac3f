import PusherProtocol

extension ChannelEvent {
    /// Creates the event that callbacks receive for a message of the broker; `nil` for messages about the connection.
    ///
    /// Events stay unchanged. Protocol messages about channels and users get their names in pusher-js.
    ///
    /// - Parameter message: The message.
    init?(_ message: ServerMessage) {
        switch message {
        case .event(let event):
            // Protocol messages that this client does not know.
            guard !event.name.hasPrefix("pusher_internal:") else { return nil }
            self.init(
                name: event.name,
                channel: event.channel,
                data: event.data,
                userID: event.userID
            )
            dataToken = event.dataToken
        case .subscriptionSucceeded(let channel, let data):
            self.init(name: "pusher:subscription_succeeded", channel: channel, data: data)
        case .subscriptionError(let channel, let type, let message, let status):
            self.init("pusher:subscription_error", channel) { data in
                data.name("type")
                data.string(type)
                data.name("error")
                data.string(message)
                data.name("status")
                data.integer(status)
            }
        case .subscriptionCount(let channel, let count):
            self.init("pusher:subscription_count", channel) { data in
                data.name("subscription_count")
                data.integer(count)
            }
        case .memberAdded(let channel, let userID, let userInfo):
            self.init("pusher:member_added", channel) { data in
                data.name("user_id")
                data.string(userID)
                guard let userInfo else { return }
                data.name("user_info")
                data.verbatim(Array(userInfo.utf8))
            }
        case .memberRemoved(let channel, let userID):
            self.init("pusher:member_removed", channel) { data in
                data.name("user_id")
                data.string(userID)
            }
        case .cacheMiss(let channel):
            self.init("pusher:cache_miss", channel) { _ in }
        case .signinSuccess(let userData):
            self.init("pusher:signin_success", nil) { data in
                data.name("user_data")
                data.string(userData)
            }
        case .watchlist(let online, let offline):
            self.init("pusher:watchlist_events", nil) { data in
                for (group, users) in [("online", online), ("offline", offline)]
                where !users.isEmpty {
                    data.name(group)
                    data.beginArray()
                    for user in users { data.string(user) }
                    data.endArray()
                }
            }
        case .connectionEstablished, .error, .ping, .pong, .position:
            return nil
        }
    }

    /// Creates the event for a subscription that failed in the client, before a request to the broker.
    init(refusalOf channel: String, _ error: FanfareError) {
        self.init("pusher:subscription_error", channel) { data in
            data.name("type")
            data.string("AuthError")
            data.name("error")
            data.string(error.description)
            guard error.code == .authorizationFailed, let status = error.status else { return }
            data.name("status")
            data.integer(status)
        }
    }

    private init(_ name: String, _ channel: String?, _ members: (inout JSONWriter) -> Void) {
        var json = JSONWriter()
        json.beginObject()
        members(&json)
        json.endObject()
        self.init(
            name: name,
            channel: channel,
            data: String(decoding: json.bytes, as: UTF8.self)
        )
    }
}
