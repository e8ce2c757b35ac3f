import Primitives

/// A message from the broker to a client.
///
/// The data of some events must be a string that contains JSON, and of others an object. A client that receives the
/// other form silently drops the event. Each case is written in the form that every official client reads;
/// ``parse(_:)`` accepts both.
public enum ServerMessage: Equatable, Sendable {
    /// The first message: the socket ID, and the seconds of inactivity after which the client sends a ping.
    ///
    /// With `receipts`, the client has requested receipts of its client events (``ConnectionURL/wantsReceipts``) and
    /// gets them.
    case connectionEstablished(socketID: SocketID, activityTimeout: Int, receipts: Bool = false)
    /// An error; the connection may stay open. The code is written even when it is `null`.
    case error(code: PusherCode?, message: String)
    /// Requests a `pusher:pong`.
    case ping
    /// Answers a `pusher:ping`.
    case pong
    /// The subscription is active. The data is `{}`, or the members of a presence channel as JSON text.
    case subscriptionSucceeded(channel: String, data: String)
    /// The subscription was refused.
    case subscriptionError(channel: String, type: String, message: String, status: Int)
    /// The number of subscribed connections.
    case subscriptionCount(channel: String, count: Int)
    /// A user has joined a presence channel; `userInfo` is JSON text.
    case memberAdded(channel: String, userID: String, userInfo: String?)
    /// A user has left a presence channel.
    case memberRemoved(channel: String, userID: String)
    /// The cache channel has no cached event.
    case cacheMiss(channel: String)
    /// The user is signed in; `userData` is the signed text.
    case signinSuccess(userData: String)
    /// The users of the watchlist that went online and offline.
    case watchlist(online: [String], offline: [String])
    /// A message that the broker does not send to this client, because it is the client's own or excludes it.
    ///
    /// The message has the number `serial` if the client tracks the channel. With a `key` it is the receipt of the
    /// client event under this key. That event has its place in the channel's order, now or since an earlier attempt.
    case position(channel: String, serial: UInt64?, key: String?)
    /// An event on a channel.
    case event(ReceivedEvent)

    /// The receipt of a client event that is not part of a stream.
    public static func receipt(channel: String, key: String) -> ServerMessage {
        .position(channel: channel, serial: nil, key: key)
    }

    /// The message in wire format.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        append(to: &bytes)
        return bytes
    }

    /// Appends the message in wire format.
    public func append(to bytes: inout [UInt8]) {
        // Fast paths for the messages that every client receives.
        switch self {
        case .connectionEstablished(let socketID, let activityTimeout, let receipts):
            // JSON inside a JSON string: digits and dots need no escapes.
            bytes.append(#"{"event":"pusher:connection_established","data":"{\"socket_id\":\""#)
            socketID.append(to: &bytes)
            bytes.append(#"\",\"activity_timeout\":"#)
            bytes.append(decimal: activityTimeout)
            if receipts { bytes.append(#",\"receipts\":true"#) }
            bytes.append(#"}"}"#)
        case .subscriptionSucceeded(let channel, "{}"):
            let channel = Array(channel.utf8)
            bytes.append(#"{"event":"pusher_internal:subscription_succeeded","channel":"#)
            JSONWriter.append(channel.span, to: &bytes)
            bytes.append(#","data":"{}"}"#)
        default:
            var json = JSONWriter()
            json.beginObject()
            write(to: &json)
            json.endObject()
            bytes.append(contentsOf: json.bytes)
        }
    }

    private func write(to json: inout JSONWriter) {
        switch self {
        case .connectionEstablished: preconditionFailure("written by `append`")
        case .error(let code, let message):
            json.event("pusher:error")
            json.object { data in
                data.name("code")
                if let code { data.integer(code.rawValue) } else { data.null() }
                data.name("message")
                data.string(message)
            }
        case .ping:
            json.event("pusher:ping")
            json.object { _ in }
        case .pong:
            json.event("pusher:pong")
            json.object { _ in }
        case .subscriptionSucceeded(let channel, let text):
            json.event("pusher_internal:subscription_succeeded", channel: channel)
            json.name("data")
            json.string(text)
        case .subscriptionError(let channel, let type, let message, let status):
            json.event("pusher:subscription_error", channel: channel)
            json.text { data in
                data.name("type")
                data.string(type)
                data.name("error")
                data.string(message)
                data.name("status")
                data.integer(status)
            }
        case .subscriptionCount(let channel, let count):
            json.event("pusher_internal:subscription_count", channel: channel)
            json.text { data in
                data.name("subscription_count")
                data.integer(count)
            }
        case .memberAdded(let channel, let userID, let userInfo):
            json.event("pusher_internal:member_added", channel: channel)
            json.text { data in
                data.name("user_id")
                data.string(userID)
                guard let userInfo else { return }
                data.name("user_info")
                data.verbatim(Array(userInfo.utf8))
            }
        case .memberRemoved(let channel, let userID):
            json.event("pusher_internal:member_removed", channel: channel)
            json.text { data in
                data.name("user_id")
                data.string(userID)
            }
        case .cacheMiss(let channel):
            // The Java library throws when there is no data.
            json.event("pusher:cache_miss", channel: channel)
            json.text { _ in }
        case .signinSuccess(let userData):
            json.event("pusher:signin_success")
            json.object { data in
                data.name("user_data")
                data.string(userData)
            }
        case .watchlist(let online, let offline):
            json.event("pusher_internal:watchlist_events")
            json.object { data in
                data.name("events")
                data.beginArray()
                data.users("online", online)
                data.users("offline", offline)
                data.endArray()
            }
        case .position(let channel, let serial, let key):
            json.event("pusher_internal:position", channel: channel)
            if let serial {
                json.name("serial")
                json.integer(Int(serial))
            }
            if let key {
                json.name("key")
                json.string(key)
            }
        case .event(let event): event.write(to: &json)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func event(_ name: String, channel: String? = nil) {
        self.name("event")
        string(name)
        guard let channel else { return }
        self.name("channel")
        string(channel)
    }

    /// Writes `data` as an object.
    fileprivate mutating func object(_ members: (inout JSONWriter) -> Void) {
        name("data")
        beginObject()
        members(&self)
        endObject()
    }

    /// Writes `data` as a string that holds an object.
    fileprivate mutating func text(_ members: (inout JSONWriter) -> Void) {
        var inner = JSONWriter()
        inner.beginObject()
        members(&inner)
        inner.endObject()
        name("data")
        string(inner.bytes.span)
    }

    /// Writes one group of a watchlist event, unless it is empty.
    fileprivate mutating func users(_ group: String, _ ids: [String]) {
        guard !ids.isEmpty else { return }
        beginObject()
        name("name")
        string(group)
        name("user_ids")
        beginArray()
        for id in ids { string(id) }
        endArray()
        endObject()
    }
}

/// An event as a client receives it.
public struct ReceivedEvent: Equatable, Sendable {
    /// The event's name.
    public var name: String
    /// The channel; `nil` for an event of the connection.
    public var channel: String?
    /// The data: the published string, or the JSON text of a value that is not a string.
    ///
    /// It has U+FFFD for half of a surrogate pair.
    public var data: String?
    /// The data as a JSON string, including quotes, if it has half of a surrogate pair, which `data` cannot represent.
    public var dataToken: [UInt8]?
    /// The member of a presence channel that sent a client event.
    public var userID: String?
    /// The number of the message in the channel's stream; `nil` if it is not part of one.
    public var serial: UInt64?

    /// Creates an event.
    public init(
        name: String,
        channel: String?,
        data: String?,
        userID: String? = nil,
        serial: UInt64? = nil
    ) {
        self.name = name
        self.serial = serial
        self.channel = channel
        self.data = data
        self.userID = userID
    }

    func write(to json: inout JSONWriter) {
        json.name("event")
        json.string(name)
        for (name, value) in [("channel", channel), ("data", data), ("user_id", userID)] {
            guard let value else { continue }
            json.name(name)
            if name == "data", let dataToken {
                json.verbatim(dataToken)
            } else {
                json.string(value)
            }
        }
        guard let serial else { return }
        json.name("serial")
        json.integer(Int(serial))
    }
}
