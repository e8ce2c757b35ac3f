#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Whether a message reached a client, or how many clients it reached; see ``BrokerAPI/delivery(of:on:to:)``.
public struct MessageDelivery: Equatable, Sendable {
    /// The clients in question.
    public enum Subject: Equatable, Sendable {
        /// The client with this socket ID, also on its later connections.
        case socket(String)
        /// The connections of a user who is signed in or is a member of the presence channel.
        case user(String)
        /// All clients; the answer contains only numbers.
        case everyone
    }

    /// The outcome of a message for a client.
    public struct Verdict: RawRepresentable, Hashable, Sendable {
        /// The verdict as the broker writes it.
        public let rawValue: String

        /// Creates a verdict; brokers may add others.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The client has confirmed the message or its number.
        public static let confirmed = Verdict(rawValue: "confirmed")
        /// The message was sent after a reconnection, as part of a replay.
        public static let replayed = Verdict(rawValue: "replayed")
        /// The message was sent.
        public static let sent = Verdict(rawValue: "sent")
        /// The message excludes the connection, or an earlier connection of the client.
        public static let leftOut = Verdict(rawValue: "left_out")
        /// The message was dropped with the queue of a client that read too slowly.
        public static let dropped = Verdict(rawValue: "dropped")
        /// The client was notified of a gap.
        public static let gapTold = Verdict(rawValue: "gap_told")
        /// The message was published after the subscription ended.
        public static let afterLeaving = Verdict(rawValue: "after_leaving")
        /// The message was published before the subscription began.
        public static let beforeJoining = Verdict(rawValue: "before_joining")
        /// The message is no longer kept, so the outcome is unknown.
        public static let notKept = Verdict(rawValue: "not_kept")
        /// The connection has not subscribed to the channel.
        public static let notSubscribed = Verdict(rawValue: "not_subscribed")
        /// The channel has not reached the number.
        public static let neverPublished = Verdict(rawValue: "never_published")
        /// The broker has no record of the connection.
        public static let unknownConnection = Verdict(rawValue: "unknown_connection")
    }

    /// The message.
    public struct Message: Equatable, Sendable {
        /// Its number.
        public var serial: UInt64
        /// The number of the channel's last message.
        public var last: UInt64
        /// Whether the broker still keeps it.
        public var isKept: Bool
        /// The time of publication; `nil` if it is no longer kept.
        public var published: Date?
        /// The socket ID that it excludes, if any.
        public var excluded: String?
    }

    /// The outcome of the message for one connection.
    public struct Connection: Equatable, Sendable {
        /// The socket ID.
        public var socketID: String
        /// The verdict.
        public var verdict: Verdict
        /// The name and version of the client's library, as the client reported them.
        public var client: String?
        /// The user's ID.
        public var userID: String?
        /// The time of the close; `nil` while the connection is open.
        public var closed: Date?
        /// The close code of the broker.
        public var code: Int?
        /// Whether the client closed the connection.
        public var isClosedByClient: Bool
        /// The subscription that proves the verdict.
        public var subscription: Subscription?
    }

    /// The serials and times that prove a verdict.
    public struct Subscription: Equatable, Sendable {
        /// The start of the subscription.
        public var began: Date
        /// The end of the subscription; `nil` while it lasts.
        public var ended: Date?
        /// The serial from which the client resumed.
        public var resumedFrom: UInt64?
        /// The serial after which the client received messages; `nil` if it does not track its position.
        public var start: UInt64?
        /// The serial after which live messages begin; messages up to it were replayed.
        public var live: UInt64?
        /// The last serial that was passed to the connection.
        public var end: UInt64?
        /// The first serial that was dropped with the connection's queue.
        public var droppedFrom: UInt64?
        /// The serial up to which the client has confirmed its messages.
        public var confirmed: UInt64?
        /// The time of that confirmation.
        public var confirmedAt: Date?
        /// The reason for which the client was notified of a gap.
        public var gap: String?
        /// The socket ID of the client's previous connection.
        public var predecessor: String?
        /// The socket ID of the client's next connection.
        public var successor: String?
    }

    /// The message; `nil` if no message of the channel has a number.
    public var message: Message?
    /// The verdict for all connections together; `nil` for ``Subject/everyone``.
    public var verdict: Verdict?
    /// The connections, oldest first; at most 100 of a user.
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
    /// Returns whether a message reached a client, and why not, or how many clients it reached.
    ///
    /// The broker records connections that track their positions, and keeps the records of the last 10,000 closed ones;
    /// its settings `recovery.connection_records` and `recovery.connection_records_max` change that.
    ///
    /// An extension of the Pusher HTTP API by Fanfare: other servers answer with status 404.
    ///
    /// - Parameters:
    ///   - serial: The number of the message.
    ///   - channel: The channel's name.
    ///   - subject: The clients in question.
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
