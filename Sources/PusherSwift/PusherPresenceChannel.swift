internal import FanfareClient
public import Foundation

/// A presence channel, with its members.
open class PusherPresenceChannel: PusherChannel {
    /// Called for each user who joins; not for the first list.
    open var onMemberAdded: ((PusherPresenceChannelMember) -> Void)?
    /// Called for each user who leaves.
    open var onMemberRemoved: ((PusherPresenceChannelMember) -> Void)?
    /// The registration of the callback for changes of the members.
    var changes: ListenerToken?
    private let lock = NSLock()
    /// One object per member, so that its identity is stable while the member is on the channel.
    private var objects: [String: PusherPresenceChannelMember] = [:]

    /// Creates a channel.
    ///
    /// Most apps call
    /// ``Pusher/subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``
    /// instead.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - connection: The connection, referenced weakly.
    ///   - auth: A signature for the next subscription.
    ///   - onMemberAdded: Called for each user who joins.
    ///   - onMemberRemoved: Called for each user who leaves.
    ///   - onSubscriptionCountChanged: Called when the number of subscribed connections changes.
    public init(
        name: String,
        connection: PusherConnection,
        auth: PusherAuth? = nil,
        onMemberAdded: ((PusherPresenceChannelMember) -> Void)? = nil,
        onMemberRemoved: ((PusherPresenceChannelMember) -> Void)? = nil,
        onSubscriptionCountChanged: ((Int) -> Void)? = nil
    ) {
        self.onMemberAdded = onMemberAdded
        self.onMemberRemoved = onMemberRemoved
        super.init(
            name: name,
            connection: connection,
            auth: auth,
            onSubscriptionCountChanged: onSubscriptionCountChanged
        )
    }

    private let membersByApp = Override<[PusherPresenceChannelMember]>()
    private let myIdByApp = Override<String?>()

    /// All members, each once; empty before the broker has sent the list.
    ///
    /// A value set by the app is returned until the broker reports a change; it is not sent to other clients.
    open var members: [PusherPresenceChannelMember] {
        get { membersByApp.value(or: knownMembers) }
        set { membersByApp.set(newValue) }
    }

    private var knownMembers: [PusherPresenceChannelMember] {
        let members = roster?.members ?? []
        return lock.withLock {
            let ids = Set(members.map(\.id))
            objects = objects.filter { ids.contains($0.key) }
            return members.map(object)
        }
    }

    /// The ID of this client's own user; `nil` before the broker has sent the list.
    ///
    /// A value set by the app is returned until the broker reports a change.
    open var myId: String? {
        get { myIdByApp.value(or: roster?.me?.id) }
        set { myIdByApp.set(newValue) }
    }

    /// Returns the member with an ID; `nil` if there is none.
    open func findMember(userId: String) -> PusherPresenceChannelMember? {
        if let members = membersByApp.current { return members.first { $0.userId == userId } }
        let member = roster?[userId]
        return member.map { member in lock.withLock { object(member) } }
    }

    /// Returns this client's own user; `nil` before the broker has sent the list.
    open func me() -> PusherPresenceChannelMember? { myId.flatMap { findMember(userId: $0) } }

    private var roster: PresenceRoster? { connection?.client.channel(name).presence.roster }

    /// Returns the object of a member; the caller must hold the lock.
    private func object(_ member: PresenceMember) -> PusherPresenceChannelMember {
        if let known = objects[member.id], known.infoText == member.info { return known }
        let new = PusherPresenceChannelMember(member)
        objects[member.id] = new
        return new
    }

    // MARK: Received messages, on the callback queue

    func update(_ change: PresenceChange) {
        membersByApp.clear()
        myIdByApp.clear()
        for member in change.left {
            let gone = lock.withLock { object(member) }
            onMemberRemoved?(gone)
        }
        for member in change.joined {
            let new = lock.withLock { object(member) }
            onMemberAdded?(new)
        }
    }
}

/// A member of a presence channel.
public class PusherPresenceChannelMember: NSObject {
    /// The user's ID, as the app's backend signed it.
    public let userId: String
    /// The user information for other members, parsed by `JSONSerialization`; `nil` if there is none.
    public let userInfo: Any?
    let infoText: String?

    /// Creates a member, for example for ``PusherConnection/userDataFetcher``.
    ///
    /// - Parameters:
    ///   - userId: The user's ID.
    ///   - userInfo: A value that `JSONSerialization` can encode; `nil` for none.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        self.userInfo = userInfo
        infoText = nil
    }

    init(_ member: PresenceMember) {
        userId = member.id
        infoText = member.info
        userInfo = member.info.flatMap {
            JSONSerialization.value(of: $0, options: .fragmentsAllowed)
        }
    }
}

/// The information about a user on a presence channel.
public typealias PusherUserInfoObject = [String: AnyObject]
