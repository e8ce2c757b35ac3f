import Primitives

/// A message published for a channel: `SERIAL KIND EXCEPT TIME BODY`.
public struct ChannelAnnouncement: Hashable, Sendable {
    /// The content of an announcement.
    public enum Content: Hashable, Sendable {
        /// An event (`e`).
        case event([UInt8])
        /// A client event (`c`).
        case clientEvent([UInt8])
        /// A new member (`+`).
        case memberAdded(user: String, info: [UInt8])
        /// A member that has left (`-`).
        case memberRemoved(user: String)
        /// The number of subscriptions (`#`).
        case count(Int)
        /// A stream that begins (`!`), and the reason.
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
        /// The former stream is sealed by a new epoch; its kept messages precede this one.
        case epoch
        /// The former stream was purged, and nothing of it is kept.
        case purge
        /// The former stream has the largest serial; its kept messages precede this one.
        case full
    }

    /// The serial in the channel's stream; 0 without a position.
    public var serial: UInt64
    /// The connection that does not get it; nil if all get it.
    public var except: String?
    /// When it was published, in milliseconds since 1970.
    public var time: Int64
    /// The content.
    public var content: Content

    /// Parses an announcement; nil for another form.
    public init?(_ bytes: [UInt8]) { self.init(bytes.span) }

    /// Parses an announcement; nil for another form.
    public init?(_ bytes: Span<UInt8>) {
        var end = -1
        func nextWord() -> Range<Int>? {
            let start = end + 1
            guard let space = bytes.firstIndex(of: UInt8(ascii: " "), from: start) else {
                return nil
            }
            end = space
            return start..<space
        }
        guard let serial = nextWord(), let kind = nextWord(), let except = nextWord(),
            let time = nextWord(), kind.count == 1,
            let serial = UInt64(safe: bytes.extracting(serial)),
            let time = Int64(safe: bytes.extracting(time)),
            let content = Content(kind: bytes[kind.lowerBound], bytes.extracting((end + 1)...))
        else { return nil }
        self.serial = serial
        self.time = time
        self.content = content
        let isForAll = except.count == 1 && bytes[except.lowerBound] == UInt8(ascii: "-")
        self.except = isForAll ? nil : bytes.extracting(except).string()
    }
}

extension ChannelAnnouncement.Content {
    fileprivate init?(kind: UInt8, _ body: Span<UInt8>) {
        switch kind {
        case UInt8(ascii: "e"): self = .event(body.copy())
        case UInt8(ascii: "c"): self = .clientEvent(body.copy())
        case UInt8(ascii: "+"):
            // LENGTH USERINFO
            guard let space = body.firstIndex(of: UInt8(ascii: " ")),
                let length = UInt64(safe: body.extracting(..<space)),
                length < UInt64(body.count - space)
            else { return nil }
            let end = space + 1 + Int(length)
            self = .memberAdded(
                user: body.extracting((space + 1)..<end).string(),
                info: body.extracting(end...).copy()
            )
        case UInt8(ascii: "-"): self = .memberRemoved(user: body.string())
        case UInt8(ascii: "#"):
            guard let count = Int(safe: body) else { return nil }
            self = .count(count)
        case UInt8(ascii: "!"):
            guard let space = body.firstIndex(of: UInt8(ascii: " ")),
                let id = UInt64(safe: body.extracting(..<space)),
                let reason = ChannelAnnouncement.Beginning(
                    rawValue: body.extracting((space + 1)...).string()
                )
            else { return nil }
            self = .stream(id, reason)
        default: return nil
        }
    }
}

/// A message published for a user: `WORD TIME`.
public enum UserAnnouncement: Hashable, Sendable {
    /// The user is online.
    case online(at: Int64)
    /// The user is offline.
    case offline(at: Int64)
    /// All connections of the user end.
    case terminate(at: Int64)

    /// Parses an announcement; nil for another form.
    public init?(_ bytes: [UInt8]) {
        let words = splitAtSpaces(bytes[...])
        guard words.count == 2 else { return nil }
        let digits = words[1]
        guard let time = Int64(safe: digits.span) else { return nil }
        switch text(words[0]) {
        case "online": self = .online(at: time)
        case "offline": self = .offline(at: time)
        case "terminate": self = .terminate(at: time)
        default: return nil
        }
    }
}

/// A message published for a node: `WORD APP:TOKEN SOCKET`, and a state.
public struct InboxMessage: Hashable, Sendable {
    /// The task of the node.
    public enum Content: Hashable, Sendable {
        /// The connection has to park the session, for one that has been open for this long, in milliseconds.
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
    /// The task of the node.
    public var content: Content

    /// Parses a message; nil for another form.
    public init?(_ bytes: [UInt8]) {
        let words = bytes.split(
            separator: UInt8(ascii: " "),
            maxSplits: 3,
            omittingEmptySubsequences: false
        )
        guard words.count >= 3 else { return nil }
        let session = words[1].split(separator: UInt8(ascii: ":"), maxSplits: 1)
        guard session.count == 2 else { return nil }
        self.session = ClusterSession(app: text(session[0]), token: text(session[1]))
        socketID = text(words[2])
        switch (text(words[0]), words.count) {
        case ("yield", 4):
            guard let time = Int64(safe: Array(words[3]).span) else { return nil }
            content = .yield(openFor: time)
        case ("yielded", 4): content = .yielded(Array(words[3]))
        case ("superseded", 3): content = .superseded
        case ("shared", 3): content = .shared
        default: return nil
        }
    }
}

private func splitAtSpaces(_ bytes: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
    bytes.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
}

private func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
