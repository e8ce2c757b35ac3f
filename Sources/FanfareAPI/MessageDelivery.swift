#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// What became of a message for a client, or for how many; see ``BrokerAPI/delivery(of:on:to:)``.
public struct MessageDelivery: Equatable, Sendable {
    /// Whose connections are asked about.
    public enum Subject: Equatable, Sendable {
        /// The client with this socket ID, and the connections on which it went on.
        case socket(String)
        /// The connections of a user that has signed in, or is a member of the presence channel.
        case user(String)
        /// All clients; the answer has numbers alone.
        case everyone
    }

    /// What became of a message.
    public struct Verdict: RawRepresentable, Hashable, Sendable {
        /// The verdict as the broker writes it.
        public let rawValue: String

        /// Creates a verdict; brokers may add others.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The client has said that it got the message, or its number.
        public static let confirmed = Verdict(rawValue: "confirmed")
        /// It was sent behind a cut, as part of a replay.
        public static let replayed = Verdict(rawValue: "replayed")
        /// It was sent.
        public static let sent = Verdict(rawValue: "sent")
        /// It excludes the connection, or one that the client had before.
        public static let leftOut = Verdict(rawValue: "left_out")
        /// It was dropped with the queue of a client that read too slowly.
        public static let dropped = Verdict(rawValue: "dropped")
        /// The client was told of a gap.
        public static let gapTold = Verdict(rawValue: "gap_told")
        /// It came behind the end of the subscription.
        public static let afterLeaving = Verdict(rawValue: "after_leaving")
        /// It came ahead of the subscription.
        public static let beforeJoining = Verdict(rawValue: "before_joining")
        /// It is no longer kept, so that nobody can know.
        public static let notKept = Verdict(rawValue: "not_kept")
        /// The connection has not subscribed to the channel.
        public static let notSubscribed = Verdict(rawValue: "not_subscribed")
        /// The channel has not reached the number.
        public static let neverPublished = Verdict(rawValue: "never_published")
        /// No record of the connection is kept.
        public static let unknownConnection = Verdict(rawValue: "unknown_connection")
    }

    /// The message.
    public struct Message: Equatable, Sendable {
        /// Its number.
        public var serial: UInt64
        /// The number of the channel's last message.
        public var last: UInt64
        /// Whether it is kept.
        public var isKept: Bool
        /// When it was published; `nil` if it is no longer kept.
        public var published: Date?
        /// The socket ID that it excludes.
        public var excluded: String?
    }

    /// What became of the message for one connection.
    public struct Connection: Equatable, Sendable {
        /// The socket ID.
        public var socketID: String
        /// The verdict.
        public var verdict: Verdict
        /// The name and version of the client's library, as it gives them.
        public var client: String?
        /// The user.
        public var userID: String?
        /// When it was closed; `nil` while it is open.
        public var closed: Date?
        /// The code with which the broker has closed it.
        public var code: Int?
        /// Whether the client has closed it.
        public var isClosedByClient: Bool
        /// The subscription that proves the verdict.
        public var subscription: Subscription?
    }

    /// The serials and times that prove a verdict.
    public struct Subscription: Equatable, Sendable {
        /// When it began.
        public var began: Date
        /// When it ended; `nil` while it lasts.
        public var ended: Date?
        /// The serial from which the client has resumed.
        public var resumedFrom: UInt64?
        /// The serial behind which the client was given messages; `nil` if it does not track its position.
        public var start: UInt64?
        /// The serial behind which live messages begin; up to it they were replayed.
        public var live: UInt64?
        /// The last serial that was handed to the connection.
        public var end: UInt64?
        /// The first serial that was dropped with the connection's queue.
        public var droppedFrom: UInt64?
        /// The serial up to which the client has confirmed what it got.
        public var confirmed: UInt64?
        /// When it has.
        public var confirmedAt: Date?
        /// Why the client was told of a gap.
        public var gap: String?
        /// The client's former connection.
        public var predecessor: String?
        /// The connection on which the client went on.
        public var successor: String?
    }

    /// The message; `nil` if no message of the channel has a number.
    public var message: Message?
    /// The verdict over all connections; `nil` for ``Subject/everyone``.
    public var verdict: Verdict?
    /// The connections, in the order of their beginnings; at most 100 of a user.
    public var connections: [Connection]
    /// The number of clients with each verdict, for ``Subject/everyone``.
    public var counts: [Verdict: Int]
}

// MARK: - Decoding

extension KeyedDecodingContainer {
    fileprivate func date(_ key: Key) throws -> Date? {
        try decodeIfPresent(Int64.self, forKey: key).map {
            Date(timeIntervalSince1970: Double($0) / 1_000)
        }
    }
}

extension MessageDelivery: Decodable {
    private enum CodingKeys: String, CodingKey { case message, verdict, connections, counts }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        message = try object.decodeIfPresent(Message.self, forKey: .message)
        verdict = try object.decodeIfPresent(String.self, forKey: .verdict)
            .map(Verdict.init(rawValue:))
        connections = try object.decodeIfPresent([Connection].self, forKey: .connections) ?? []
        let counts = try object.decodeIfPresent([String: Int].self, forKey: .counts) ?? [:]
        self.counts = Dictionary(
            uniqueKeysWithValues: counts.map { (Verdict(rawValue: $0.key), $0.value) }
        )
    }
}

extension MessageDelivery.Message: Decodable {
    private enum CodingKeys: String, CodingKey { case serial, last, kept, published, excluded }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        serial = try object.decode(UInt64.self, forKey: .serial)
        last = try object.decode(UInt64.self, forKey: .last)
        isKept = try object.decode(Bool.self, forKey: .kept)
        published = try object.date(.published)
        excluded = try object.decodeIfPresent(String.self, forKey: .excluded)
    }
}

extension MessageDelivery.Connection: Decodable {
    private enum CodingKeys: String, CodingKey {
        case verdict, client, closed, code, subscription
        case socketID = "socket_id"
        case userID = "user_id"
        case isClosedByClient = "closed_by_client"
    }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        socketID = try object.decode(String.self, forKey: .socketID)
        verdict = MessageDelivery.Verdict(
            rawValue: try object.decode(String.self, forKey: .verdict)
        )
        client = try object.decodeIfPresent(String.self, forKey: .client)
        userID = try object.decodeIfPresent(String.self, forKey: .userID)
        closed = try object.date(.closed)
        code = try object.decodeIfPresent(Int.self, forKey: .code)
        isClosedByClient = try object.decodeIfPresent(Bool.self, forKey: .isClosedByClient) ?? false
        subscription = try object.decodeIfPresent(
            MessageDelivery.Subscription.self,
            forKey: .subscription
        )
    }
}

extension MessageDelivery.Subscription: Decodable {
    private enum CodingKeys: String, CodingKey {
        case began, ended, start, live, end, confirmed, gap, predecessor, successor
        case resumedFrom = "resumed_from"
        case droppedFrom = "dropped_from"
        case confirmedAt = "confirmed_at"
    }

    /// Decodes the broker's object.
    public init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        began = try object.date(.began) ?? Date(timeIntervalSince1970: 0)
        ended = try object.date(.ended)
        resumedFrom = try object.decodeIfPresent(UInt64.self, forKey: .resumedFrom)
        start = try object.decodeIfPresent(UInt64.self, forKey: .start)
        live = try object.decodeIfPresent(UInt64.self, forKey: .live)
        end = try object.decodeIfPresent(UInt64.self, forKey: .end)
        droppedFrom = try object.decodeIfPresent(UInt64.self, forKey: .droppedFrom)
        confirmed = try object.decodeIfPresent(UInt64.self, forKey: .confirmed)
        confirmedAt = try object.date(.confirmedAt)
        gap = try object.decodeIfPresent(String.self, forKey: .gap)
        predecessor = try object.decodeIfPresent(String.self, forKey: .predecessor)
        successor = try object.decodeIfPresent(String.self, forKey: .successor)
    }
}

extension BrokerAPI {
    /// Returns what became of a message: why a client did not get it, or how many got it.
    ///
    /// The broker records the connections that track their positions, the last 10,000 also behind their end; its
    /// `recovery.connection_records` settings say more.
    ///
    /// Fanfare's extension of the Pusher HTTP API: other servers answer with status 404.
    ///
    /// - Parameters:
    ///   - serial: The number of the message.
    ///   - channel: The channel's name.
    ///   - subject: Whose connections to look at.
    /// - Returns: The verdict, with the serials that prove it.
    /// - Throws: A ``FanfareAPIError``.
    public func delivery(
        of serial: UInt64,
        on channel: String,
        to subject: MessageDelivery.Subject = .everyone
    ) async throws(FanfareAPIError) -> MessageDelivery {
        guard !channel.isEmpty else { throw .invalidArgument("The channel's name is empty") }
        let parameters: [(name: String, value: String)] =
            switch subject {
            case .socket(let id): [("socket_id", id)]
            case .user(let id): [("user_id", id)]
            case .everyone: []
            }
        let response = try await call(
            "GET",
            "channels/\(BrokerAPI.segment(channel))/messages/\(serial)/delivery",
            parameters: parameters,
            retry: .idempotent
        )
        return try APIListResponse.decode(MessageDelivery.self, from: response)
    }
}
