public import PusherProtocol

extension ServerMessage {
    /// The acknowledgement of a subscription, with all members, including the new one, on a presence channel.
    ///
    /// `start` is where the subscription of a client that tracks its position begins.
    public static func subscriptionSucceeded(
        channel: ChannelName,
        members: [Member],
        start: SubscriptionStart? = nil
    ) -> ServerMessage {
        if members.isEmpty, start == nil {
            return .subscriptionSucceeded(channel: channel.text, data: "{}")
        }
        var json = JSONWriter()
        json.beginObject()
        if !members.isEmpty { write(members, to: &json) }
        start?.write(to: &json)
        json.endObject()
        let data = String(decoding: json.bytes, as: UTF8.self)
        return .subscriptionSucceeded(channel: channel.text, data: data)
    }

    private static func write(_ members: [Member], to json: inout JSONWriter) {
        json.name("presence")
        json.beginObject()
        json.name("ids")
        json.beginArray()
        for member in members { json.string(member.id.text) }
        json.endArray()
        json.name("hash")
        json.beginObject()
        for member in members {
            json.name(member.id.text)
            if let info = member.info { json.verbatim(info) } else { json.null() }
        }
        json.endObject()
        json.name("count")
        json.integer(members.count)
        json.endObject()
    }

    /// The notice of a new member to the other members of a presence channel.
    public static func memberAdded(_ member: Member, to channel: ChannelName) -> ServerMessage {
        let info = member.info.map { String(decoding: $0, as: UTF8.self) }
        return .memberAdded(channel: channel.text, userID: member.id.text, userInfo: info)
    }
}
