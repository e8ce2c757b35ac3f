import Primitives

extension ServerMessage {
    /// Parses a text message; unknown members are ignored.
    ///
    /// A malformed `pusher:` event is returned as an ``event(_:)``, so that a client can log it.
    ///
    /// Throws the error in a message that is not an event.
    public static func parse(
        _ text: Span<UInt8>
    ) throws(MessageError) -> ServerMessage {
        let members = try MessageMembers(text, depthMax: JSONScanner.depthMaxDefault)
        guard let name = members.event else { throw .missing("event") }
        guard name.kind == .string else { throw .notAString("event") }
        func string(_ value: JSONValue?) -> String? {
            value.flatMap { $0.kind == .null ? nil : $0.string(in: text) }
        }
        var event = ReceivedEvent(
            name: name.string(in: text),
            channel: string(members.channel),
            data: string(members.data),
            userID: string(members.userID),
            serial: members.serial(in: text)
        )
        if let data = members.data, data.hasLoneSurrogate {
            event.dataToken = data.token(in: text)
        }
        guard event.name.utf8.starts(with: "pusher".utf8) else { return .event(event) }
        if event.name == "pusher_internal:position", let channel = event.channel {
            return .position(channel: channel, serial: event.serial, key: string(members.key))
        }
        let data = try? MessageData(members, in: text, depthMax: JSONScanner.depthMaxDefault)
        return control(event, data) ?? .event(event)
    }

    /// Parses an event of the protocol itself, or returns `nil` when it is malformed.
    private static func control(_ event: ReceivedEvent, _ data: MessageData?) -> ServerMessage? {
        switch (event.name, event.channel) {
        case ("pusher:ping", _): return .ping
        case ("pusher:pong", _): return .pong
        case ("pusher:connection_established", _):
            guard let id = data?.string("socket_id"),
                let socketID = SocketID(id),
                let activityTimeout = data?.integer("activity_timeout")
            else { return nil }
            return .connectionEstablished(
                socketID: socketID,
                activityTimeout: activityTimeout,
                receipts: data?.json("receipts") == Array("true".utf8)
            )
        case ("pusher:error", _):
            guard let message = data?.string("message") else {
                return nil
            }
            return .error(
                code: data?.integer("code").map(PusherCode.init(rawValue:)),
                message: message
            )
        case ("pusher_internal:subscription_succeeded", let channel?):
            return .subscriptionSucceeded(channel: channel, data: event.data ?? "{}")
        case ("pusher:subscription_error", let channel?):
            return .subscriptionError(
                channel: channel,
                type: data?.string("type") ?? "",
                message: data?.string("error") ?? "",
                status: data?.integer("status") ?? 0
            )
        case ("pusher_internal:subscription_count", let channel?):
            return data?.integer("subscription_count").map {
                .subscriptionCount(channel: channel, count: $0)
            }
        case ("pusher_internal:member_added", let channel?):
            guard let userID = data?.identifier("user_id") else { return nil }
            let info = data?.json("user_info").map { String(decoding: $0, as: UTF8.self) }
            return .memberAdded(channel: channel, userID: userID, userInfo: info)
        case ("pusher_internal:member_removed", let channel?):
            return data?.identifier("user_id").map {
                .memberRemoved(channel: channel, userID: $0)
            }
        case ("pusher:cache_miss", let channel?): return .cacheMiss(channel: channel)
        case ("pusher:signin_success", _):
            guard let userData = data?.string("user_data") else {
                return nil
            }
            return .signinSuccess(userData: userData)
        case ("pusher_internal:watchlist_events", _):
            guard let groups = data?.json("events") else { return nil }
            return watchlist(groups)
        default: return nil
        }
    }

    private static func watchlist(_ groups: [UInt8]) -> ServerMessage? {
        guard let array = try? JSONScanner.scan(groups.span), array.kind == .array else {
            return nil
        }
        var ids: [String: [String]] = [:]
        for group in EventFields.elements(of: array, in: groups.span) {
            let text = group.token(in: groups.span)
            guard let data = try? MessageData(text), let name = data.string("name"),
                let list = data.json("user_ids"), let users = try? JSONScanner.scan(list.span),
                users.kind == .array
            else { return nil }
            for user in EventFields.elements(of: users, in: list.span) {
                ids[name, default: []].append(user.string(in: list.span))
            }
        }
        return .watchlist(online: ids["online"] ?? [], offline: ids["offline"] ?? [])
    }
}

extension MessageData {
    /// Returns a user id; one that a server writes as a number keeps its digits.
    fileprivate func identifier(_ name: StaticString) -> String? {
        guard let token = json(name) else { return nil }
        guard let value = try? JSONScanner.scan(token.span) else { return nil }
        return value.kind == .string || value.kind == .number ? value.string(in: token.span) : nil
    }
}
