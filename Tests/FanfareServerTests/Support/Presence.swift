import Digests
import Testing

/// Signs a subscription by hand, independently of the broker's own code.
func subscribeMessage(
    to channel: String,
    socketID: String,
    data: String? = nil,
    secret: String = "app-secret"
) -> String {
    let text = Array("\(socketID):\(channel)\(data.map { ":" + $0 } ?? "")".utf8)
    let secret = Array(secret.utf8)
    let signature = Hex.encode(HMACSHA256(key: secret.span).code(for: text.span))
    let channelData = data.map { #","channel_data":"\#(quoted($0))""# } ?? ""
    return
        #"{"event":"pusher:subscribe","data":{"channel":"\#(channel)","auth":"app-key:\#(signature)"\#(channelData)}}"#
}

/// Text, escaped for a JSON string.
func quoted(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
}

/// The notices of a presence channel, as sent.
enum Notice {
    static func added(_ id: String, _ channel: String, info: String? = nil) -> String {
        let info = info.map { #","user_info":\#($0)"# } ?? ""
        return text("member_added", channel, #"{"user_id":"\#(id)"\#(info)}"#)
    }

    static func removed(_ id: String, _ channel: String) -> String {
        text("member_removed", channel, #"{"user_id":"\#(id)"}"#)
    }

    private static func text(_ event: String, _ channel: String, _ data: String) -> String {
        #"{"event":"pusher_internal:\#(event)","channel":"\#(channel)","data":"\#(quoted(data))"}"#
    }
}

extension TestBroker {
    /// Connects, and subscribes to a presence channel as a user.
    ///
    /// - Returns: The client, and the users on the channel.
    func joined(
        _ channel: String,
        as user: String,
        info: String? = nil
    ) async throws -> (WebSocketWire, users: [String]) {
        let (client, socketID) = try await connected()
        return (client, try await client.join(channel, as: user, info: info, socketID: socketID))
    }

    /// Queries the users on a presence channel.
    func users(of channel: String) async throws -> [String] {
        let answer = try await Wire(port: port)
            .ask(SignedRequest(method: "GET", path: "/apps/1/channels/\(channel)/users"))
        #expect(answer.status == 200)
        return answer.body.matches(of: /\{"id":"([^"]*)"\}/).map { String($0.1) }.sorted()
    }
}

extension WebSocketWire {
    /// Subscribes to a presence channel as a user, and returns the users on it, in order.
    func join(
        _ channel: String,
        as user: String,
        info: String? = nil,
        socketID: String
    ) async throws -> [String] {
        let info = info.map { #","user_info":\#($0)"# } ?? ""
        let data = #"{"user_id":"\#(user)"\#(info)}"#
        try send(subscribeMessage(to: channel, socketID: socketID, data: data))
        return try presentUsers(try await nextText())
    }

    /// The users of an acknowledgement: the ids, which must agree with the hash and the count.
    func presentUsers(_ acknowledgement: String) throws -> [String] {
        let match = try #require(
            acknowledgement.firstMatch(
                of:
                    /^\{"event":"pusher_internal:subscription_succeeded",.*"data":"\{\\"presence\\":\{\\"ids\\":\[(.*?)\],\\"hash\\":\{(.*)\},\\"count\\":(\d+)\}\}"\}$/
            ),
            "\(acknowledgement)"
        )
        let ids = match.1.split(separator: ",").map { $0.replacing("\\\"", with: "") }
        #expect(ids.count == Int(match.3))
        for id in ids { #expect(match.2.contains(#"\"\#(id)\":"#)) }
        return ids.map { String($0) }.sorted()
    }

    /// Leaves a channel.
    func unsubscribe(from channel: String) throws {
        try send(#"{"event":"pusher:unsubscribe","data":{"channel":"\#(channel)"}}"#)
    }

    /// Expects no message but the answer to a ping.
    func expectNothing(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try send(#"{"event":"pusher:ping"}"#)
        let text = try await nextText()
        #expect(text == #"{"event":"pusher:pong","data":{}}"#, sourceLocation: sourceLocation)
    }
}
