public import PusherProtocol

/// The reason why a subscription is refused; the connection stays open.
public enum SubscriptionRefusal: Error, Equatable, Sendable {
    /// The name breaks the grammar of channel names.
    case invalidName(ChannelNameError)
    /// The connection has the maximum number of subscriptions.
    case tooMany(limit: Int)
    /// The connection exceeds the app's subscription rate.
    case tooFast(Rate)
    /// The `auth` is missing; the value is the string to sign.
    case unsigned(String)
    /// The `auth` is not a signature of the app.
    case signature(SignatureError)
    /// The `channel_data` of a presence channel is missing, and the connection is not signed in.
    case noChannelData(ChannelName)
    /// The channel is that of a user, and the connection is not signed in as this user.
    case notTheUser(ChannelName)
    /// The `channel_data` is invalid.
    case member(MemberError)
    /// The position is malformed.
    case invalidPosition(PositionError)
    /// The presence channel has the maximum number of members.
    case full(ChannelName, membersMax: Int)
    /// The clients of the app, or of the address, have opened the maximum number of channels with recovery and without
    /// messages.
    case tooManyOpened(ChannelName, limit: Int)

    /// The `type` of `pusher:subscription_error`.
    var type: String {
        switch self {
        case .invalidName: "InvalidChannel"
        case .invalidPosition: "InvalidPosition"
        case .tooMany, .tooFast, .full, .tooManyOpened, .member(.idTooLong), .member(.infoTooLong):
            "LimitReached"
        case .unsigned, .signature, .noChannelData, .notTheUser, .member: "AuthError"
        }
    }

    /// Whether the signature is missing or invalid, for example because it names another socket ID.
    var isOfSignature: Bool {
        switch self {
        case .unsigned, .signature: true
        default: false
        }
    }

    /// The limit that was reached, if that is the reason.
    var limit: Limit? {
        switch self {
        case .invalidName(let error): error.limit
        case .tooMany: .subscriptions
        case .tooFast: .subscriptionRate
        case .full: .members
        case .tooManyOpened: .openedStreams
        case .member(.infoTooLong): .userInfoLength
        case .unsigned, .signature, .noChannelData, .notTheUser, .member, .invalidPosition: nil
        }
    }

    /// The `status` of `pusher:subscription_error`: an HTTP status, or the protocol's code for a limit.
    var status: Int {
        switch type {
        case "AuthError": 401
        case "LimitReached": 4100
        default: 400
        }
    }
}

extension SubscriptionRefusal: CustomStringConvertible {
    /// The fault, and what is expected.
    public var description: String {
        switch self {
        case .invalidName(let error): error.description
        case .tooMany(let limit): "A connection may have at most \(limit) subscriptions"
        case .tooFast(let rate):
            "A connection may subscribe to \(rate.perSecond) channels a second: try again later"
        case .unsigned(let text):
            "No auth given: it must be the app key, a colon and the HMAC SHA256 hex digest of "
                + "\(text)"
        case .signature(let error): error.description
        case .noChannelData(let name):
            "No channel_data given: \(name.text) needs a JSON object with user_id, or a connection "
                + "that is signed in"
        case .notTheUser(let name):
            "Channel \(name.text) is for connections that are signed in as \(name.userID ?? "its user")"
        case .member(let error): error.description
        case .invalidPosition(let error): error.description
        case .full(let name, let membersMax):
            "Channel \(name.text) has \(membersMax) members, the maximum"
        case .tooManyOpened(let name, let limit):
            "Channel \(name.text) is not opened: nothing was published on it, and clients have "
                + "opened the maximum of \(limit) such channels in the app, or a quarter of them "
                + "from this address; subscribe without a position, or try again later"
        }
    }
}
