public import RESP

/// The data of a channel that `attach` has read.
public struct ChannelAttachment: Hashable, Sendable {
    /// A member of a presence channel.
    public struct Member: Hashable, Sendable {
        /// The user's ID.
        public var user: String
        /// The user's info.
        public var info: [UInt8]
    }

    /// The number of subscriptions on all nodes.
    public var subscriptionCount: Int64
    /// Whether the channel had none before.
    public var wasVacant: Bool
    /// The position of the newest message; nil without a stream, or if it was not requested.
    public var newest: StreamPosition?
    /// The position of the oldest kept message; nil if there is none.
    public var oldest: StreamPosition?
    /// The cached event, as it was announced; nil if there is none, or if it was not requested.
    public var cachedEvent: [UInt8]?
    /// The members; none if they were not requested.
    public var members: [Member]
    /// The number of ``PartitionKeys/counter``.
    public var counter: Int64

    /// Reads a reply with the data of each channel of the call, in order; nil for another form.
    public static func all(_ reply: borrowing RESPView) -> [ChannelAttachment]? {
        guard let counter = reply[1].safeInteger else { return nil }
        var attachments: [ChannelAttachment] = []
        attachments.reserveCapacity(reply[0].count)
        reply[0].forEach { element in
            if let attachment = ChannelAttachment(element, counter) {
                attachments.append(attachment)
            }
        }
        return attachments.count == reply[0].count ? attachments : nil
    }

    private init?(_ element: borrowing RESPView, _ counter: Int64) {
        guard let count = element[0].clampedCount, let wasVacant = element[1].safeInteger else {
            return nil
        }
        subscriptionCount = count
        self.wasVacant = wasVacant == 1
        self.counter = counter
        newest = StreamPosition(element[2])
        oldest = StreamPosition(element[3])
        // A damaged position must not count as a channel without messages.
        guard newest != nil || element[2].isNull else { return nil }
        cachedEvent = element[4].isNull ? nil : element[4].copy()
        var members: [Member] = []
        var user: String?
        element[5].forEach { element in
            if let name = user.take() {
                members.append(Member(user: name, info: element.copy()))
            } else {
                user = element.text
            }
        }
        self.members = members
    }
}

/// The reply to `detach`.
public struct ChannelDetachment: Hashable, Sendable {
    /// The number of subscriptions on all nodes.
    public var subscriptionCount: Int64
    /// Whether the channel has lost its last one by this call.
    public var becameVacant: Bool
    /// The number of streams dropped because of the limit of channels without subscriptions.
    public var forgottenCount: Int64

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[0].clampedCount, let becameVacant = reply[1].safeInteger else {
            return nil
        }
        subscriptionCount = count
        self.becameVacant = becameVacant == 1
        forgottenCount = reply[2].clampedCount ?? 0
    }
}

/// The reply to `join`.
public enum MemberArrival: Hashable, Sendable {
    /// The channel already has the maximum number of members, and the user is not one of them.
    case refused(memberCount: Int64)
    /// The user is a new member, and was announced.
    case newMember(memberCount: Int64)
    /// The user was a member, on this node or another.
    case knownMember(memberCount: Int64)

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[1].clampedCount else { return nil }
        switch reply[0].safeInteger {
        case 0: self = .refused(memberCount: count)
        case 1: self = .newMember(memberCount: count)
        case 2: self = .knownMember(memberCount: count)
        default: return nil
        }
    }
}

/// The reply to `leave`.
public enum MemberDeparture: Hashable, Sendable {
    /// The user was not a member on the node.
    case unknown
    /// The user is no longer a member, which was announced.
    case memberLeft
    /// The user is a member on another node.
    case memberStays

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        switch reply[0].safeInteger {
        case 0: self = .unknown
        case 1: self = .memberLeft
        case 2: self = .memberStays
        default: return nil
        }
    }
}

/// The reply to `reap`.
public struct Reaping: Hashable, Sendable {
    /// The number of removed members.
    public var memberCount: Int64
    /// Whether the call is to be repeated.
    public var hasMore: Bool
    /// The number of streams dropped because of the limit of channels without subscriptions.
    public var forgottenCount: Int64

    /// Reads a reply; nil for another form.
    public init?(_ reply: borrowing RESPView) {
        guard let count = reply[0].clampedCount, let hasMore = reply[1].safeInteger else {
            return nil
        }
        memberCount = count
        self.hasMore = hasMore == 1
        forgottenCount = reply[2].clampedCount ?? 0
    }
}
