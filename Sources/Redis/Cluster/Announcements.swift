/// What is published for a channel: `SERIAL KIND EXCEPT TIME BODY`.
public struct ChannelAnnouncement: Hashable, Sendable {
    /// What it announces.
    public enum Content: Hashable, Sendable {
        /// An event (`e`).
        case event([UInt8])
        /// A client event (`c`).
        case clientEvent([UInt8])
        /// A new member (`+`).
        case memberAdded(user: String, info: [UInt8])
        /// A member that is gone (`-`).
        case memberRemoved(user: String)
        /// The number of subscriptions (`#`).
        case count(Int)
        /// A stream that begins (`!`), and why.
        case stream(UInt64, Beginning)

        /// Whether it changes the list of members.
        public var isOfMembers: Bool {
            switch self {
            case .memberAdded, .memberRemoved: true
            case .event, .clientEvent, .count, .stream: false
            }
        }
    }

    /// Why a stream begins.
    public enum Beginning: String, Sendable {
        /// The channel had none.
        case first
        /// The one before is sealed by a new epoch; what is kept of it precedes this one.
        case epoch
        /// The one before was purged: nothing of it is kept.
        case purge
    }

    /// The place in the channel's stream; 0 without a position.
    public var serial: UInt64
    /// The connection that does not get it; nil if all get it.
    public var except: String?
    /// When it was published, in milliseconds since 1970.
    public var time: Int64
    /// What it announces.
    public var content: Content

    /// Parses an announcement; nil for another form.
    public init?(_ bytes: [UInt8]) {
        let words = bytes.split(
            separator: UInt8(ascii: " "),
            maxSplits: 4,
            omittingEmptySubsequences: false
        )
        guard words.count == 5, let serial = UInt64(text(words[0])),
            let time = Int64(text(words[3])),
            let content = Content(kind: text(words[1]), words[4])
        else { return nil }
        self.serial = serial
        self.time = time
        self.content = content
        except = text(words[2]) == "-" ? nil : text(words[2])
    }
}

extension ChannelAnnouncement.Content {
    fileprivate init?(kind: String, _ body: ArraySlice<UInt8>) {
        switch kind {
        case "e": self = .event(Array(body))
        case "c": self = .clientEvent(Array(body))
        case "+":
            // LENGTH USERINFO
            guard let space = body.firstIndex(of: UInt8(ascii: " ")),
                let length = Int(text(body[..<space])), length >= 0,
                length < body.endIndex - space
            else { return nil }
            let user = body[(space + 1)...].prefix(length)
            self = .memberAdded(user: text(user), info: Array(body[user.endIndex...]))
        case "-": self = .memberRemoved(user: text(body))
        case "#":
            guard let count = Int(text(body)) else { return nil }
            self = .count(count)
        case "!":
            let parts = text(body).split(separator: " ", omittingEmptySubsequences: false)
            guard parts.count == 2, let id = UInt64(parts[0]),
                let reason = ChannelAnnouncement.Beginning(rawValue: String(parts[1]))
            else { return nil }
            self = .stream(id, reason)
        default: return nil
        }
    }
}

/// What is published for a user: `WORD TIME`.
public enum UserAnnouncement: Hashable, Sendable {
    /// The user is online.
    case online(at: Int64)
    /// The user is offline.
    case offline(at: Int64)
    /// All connections of the user end.
    case terminate(at: Int64)

    /// Parses an announcement; nil for another form.
    public init?(_ bytes: [UInt8]) {
        let words = text(bytes[...]).split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let time = Int64(words[1]) else { return nil }
        switch words[0] {
        case "online": self = .online(at: time)
        case "offline": self = .offline(at: time)
        case "terminate": self = .terminate(at: time)
        default: return nil
        }
    }
}

/// What is published for a node: `WORD APP:TOKEN SOCKET`, and a state.
public struct InboxMessage: Hashable, Sendable {
    /// What the node is to do.
    public enum Content: Hashable, Sendable {
        /// The connection is to park the session, for one that has been open for so long, in milliseconds.
        case yield(openFor: Int64)
        /// The connection owns the session, with this state.
        case yielded([UInt8])
        /// Another connection has claimed the session after this one.
        case superseded
        /// Two clients use the session.
        case shared
    }

    /// The session.
    public var session: ClusterSession
    /// The connection.
    public var socketID: String
    /// What the node is to do.
    public var content: Content

    /// Parses a message; nil for another form.
    public init?(_ bytes: [UInt8]) {
        let words = bytes.split(
            separator: UInt8(ascii: " "),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard words.count >= 3 else { return nil }
        let session = text(words[1]).split(separator: ":", maxSplits: 1)
        guard session.count == 2 else { return nil }
        self.session = ClusterSession(app: String(session[0]), token: String(session[1]))
        socketID = text(words[2])
        switch (text(words[0]), words.count) {
        case ("yield", 4):
            guard let time = Int64(text(words[3])), time >= 0 else { return nil }
            content = .yield(openFor: time)
        case ("yielded", 4): content = .yielded(Array(words[3]))
        case ("superseded", 3): content = .superseded
        case ("shared", 3): content = .shared
        default: return nil
        }
    }
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
