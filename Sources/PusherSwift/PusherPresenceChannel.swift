internal import FanfareClient
public import Foundation

/// A channel that knows who is on it.
open class PusherPresenceChannel: PusherChannel {
    /// Called for each user who comes; not for those who were there before.
    open var onMemberAdded: ((PusherPresenceChannelMember) -> Void)?
    /// Called for each user who goes.
    open var onMemberRemoved: ((PusherPresenceChannelMember) -> Void)?
    /// What tells of changes.
    var changes: Binding?
    private let lock = NSLock()
    /// The objects that stand for members, so that one member is one object while they are there.
    private var objects: [String: PusherPresenceChannelMember] = [:]

    /// Makes a channel, which
    /// ``Pusher/subscribeToPresenceChannel(channelName:auth:onMemberAdded:onMemberRemoved:onSubscriptionCountChanged:)``
    /// does for most apps.
    ///
    /// - Parameters:
    ///   - name: The channel's name.
    ///   - connection: The connection, which is not kept alive.
    ///   - auth: What lets the next subscription in.
    ///   - onMemberAdded: Called for each user who comes.
    ///   - onMemberRemoved: Called for each user who goes.
    ///   - onSubscriptionCountChanged: Called when another number of connections is subscribed.
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

    private let membersByApp = Overwrite<[PusherPresenceChannelMember]>()
    private let myIdByApp = Overwrite<String?>()

    /// Everybody who is there, each once; empty before the broker has told.
    ///
    /// What is set here is read here until the broker tells of a change; the others hear nothing of it.
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

    /// The id of the user whom this client is; `nil` before the broker has told.
    ///
    /// What is set here is read here until the broker tells of a change.
    open var myId: String? {
        get { myIdByApp.value(or: roster?.me?.id) }
        set { myIdByApp.set(newValue) }
    }

    /// The member with an id; `nil` for somebody who is not there.
    open func findMember(userId: String) -> PusherPresenceChannelMember? {
        if let members = membersByApp.current { return members.first { $0.userId == userId } }
        let member = roster?[userId]
        return member.map { member in lock.withLock { object(member) } }
    }

    /// The user whom this client is; `nil` before the broker has told.
    open func me() -> PusherPresenceChannelMember? { myId.flatMap { findMember(userId: $0) } }

    private var roster: PresenceRoster? { connection?.client.channel(name).presence.roster }

    /// The object that stands for a member; under the lock.
    private func object(_ member: PresenceMember) -> PusherPresenceChannelMember {
        if let known = objects[member.id], known.infoText == member.info { return known }
        let new = PusherPresenceChannelMember(member)
        objects[member.id] = new
        return new
    }

    // MARK: What arrives, on the callbacks' queue

    func changed(_ change: PresenceChange) {
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

/// Somebody on a presence channel.
public class PusherPresenceChannelMember: NSObject {
    /// The user's id, as the app's backend has given it.
    public let userId: String
    /// What the backend tells the others of the user, as `JSONSerialization` makes it; `nil` for nothing.
    public let userInfo: Any?
    let infoText: String?

    /// Makes a member, such as ``PusherConnection/userDataFetcher`` returns.
    ///
    /// - Parameters:
    ///   - userId: The user's id.
    ///   - userInfo: What `JSONSerialization` can write; `nil` for nothing.
    public init(userId: String, userInfo: Any? = nil) {
        self.userId = userId
        self.userInfo = userInfo
        infoText = nil
    }

    init(_ member: PresenceMember) {
        userId = member.id
        infoText = member.info
        userInfo = member.info.flatMap {
            try? JSONSerialization.jsonObject(
                with: Data($0.utf8),
                options: .fragmentsAllowed
            )
        }
    }
}

/// What is known about a user on a presence channel.
public typealias PusherUserInfoObject = [String: AnyObject]
