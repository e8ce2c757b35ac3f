// Signed-in users, and sessions of stock clients.
extension PartitionCalls {
    /// Sets the number of the node's connections that are signed in as a user.
    ///
    /// - Parameters:
    ///   - user: The user, to whose announcements the node is subscribed.
    ///   - count: The number of connections; 0 after the last.
    /// - Returns: The call; the reply is ``UserConnections``.
    public func setConnections(of user: ClusterUser, to count: Int) -> ScriptCall {
        setConnections(of: user, on: node, to: count)
    }

    /// Removes a user from a node that has ended; the reply is ``UserConnections``.
    public func reap(_ user: ClusterUser, of other: String) -> ScriptCall {
        setConnections(of: user, on: other, to: 0)
    }

    private func setConnections(of user: ClusterUser, on other: String, to count: Int) -> ScriptCall
    {
        ScriptCall(
            scripts.user,
            [
                keys.items(of: other), keys.connections(user), keys.announcements(user), keys.due,
                keys.termination(user),
            ],
            [.text(other), .text(user.text), .number(count), .text(node)]
        )
    }

    /// Reads which users are online.
    ///
    /// - Parameter users: At most ``ClusterScripts/messageCountMax``, whose announcements the node is subscribed to.
    /// - Returns: The call; the reply has 1 for each user that is online, and 0 for the others.
    public func watch(_ users: [ClusterUser]) -> ScriptCall {
        precondition(users.count <= ClusterScripts.messageCountMax, "\(users.count) users")
        return ScriptCall(
            scripts.watch,
            [keys.due] + users.map { keys.connections($0) },
            users.map { .text($0.text) }
        )
    }

    /// Terminates the connections of a user on all nodes; the reply is the time in milliseconds.
    public func terminate(_ user: ClusterUser) -> ScriptCall {
        ScriptCall(scripts.terminate, [keys.announcements(user), keys.termination(user)], [])
    }

    // MARK: Sessions

    /// Makes a connection the owner of a session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - connection: The connection.
    ///   - age: How long a session is kept, in milliseconds.
    ///   - sessionsMax: The maximum number of sessions of the app in this partition, at least 1.
    ///   - openFor: How long the connection has been open, in milliseconds.
    ///   - takes: Whether to take it from an owner that does not answer.
    /// - Returns: The call; the reply is a ``ClaimedSession``.
    public func claim(
        _ session: ClusterSession,
        for connection: ClusterSession.Connection,
        age: Int,
        sessionsMax: Int,
        openFor: Int = 0,
        takes: Bool = false
    ) -> ScriptCall {
        precondition(sessionsMax > 0, "no sessions")
        return ScriptCall(
            scripts.claim,
            [
                keys.sessions(session.app), keys.sessionExpiries(session.app), keys.nodes,
                keys.inboxes,
            ],
            [
                .text(node), .text(session.text), .text(connection.socketID),
                .number(Int(connection.openedAt)), .number(age), .number(sessionsMax),
                .number(takes ? 1 : 0), .number(openFor),
            ]
        )
    }

    /// Stores the state of a session.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - connection: The connection that owns it; for ``ClusterSession/Parking/share``, any connection that has owned
    ///     it.
    ///   - state: The state.
    ///   - age: How long a session is kept, in milliseconds.
    ///   - parking: Whether the ownership ends.
    ///   - byteCountMax: The maximum size of the app's sessions in this partition, in bytes. Once half is used, one
    ///     address may have at most a quarter.
    ///   - addressDigest: A digest of the client's address; 0 if it is not known.
    /// - Returns: The call; the reply is a ``SessionParking``.
    public func park(
        _ session: ClusterSession,
        of connection: ClusterSession.Connection,
        _ state: [UInt8],
        age: Int,
        _ parking: ClusterSession.Parking,
        byteCountMax: Int = 1 << 40,
        addressDigest: UInt32 = 0
    ) -> ScriptCall {
        ScriptCall(
            scripts.park,
            [keys.sessions(session.app), keys.sessionExpiries(session.app), keys.inboxes],
            [
                .text(node), .text(session.text), .text(connection.socketID), .bytes(state),
                .number(age), .text(parking.rawValue), .number(Int(connection.openedAt)),
                .number(byteCountMax), addressDigest == 0 ? .text("") : .number(Int(addressDigest)),
            ]
        )
    }
}

/// A session of a stock client.
public struct ClusterSession: Hashable, Sendable {
    /// The app's ID.
    public var app: String
    /// The token, without white space.
    public var token: String

    /// Makes a session.
    public init(app: String, token: String) {
        self.app = app
        self.token = token
    }

    var text: String { "\(app):\(token)" }

    /// A connection that claims a session.
    public struct Connection: Hashable, Sendable {
        /// The socket ID.
        public var socketID: String
        /// When it was opened, in microseconds of a clock of the node; compared only with connections of the same node.
        public var openedAt: Int64

        /// Makes a connection.
        public init(socketID: String, openedAt: Int64) {
            self.socketID = socketID
            self.openedAt = openedAt
        }
    }

    /// How a state is stored.
    public enum Parking: String, Sendable, CaseIterable {
        /// The connection has ended, or yields.
        case park
        /// The connection continues; to be repeated at least twice within the age.
        case checkpoint
        /// Two connected clients use the session, which resumes nothing from now on.
        case share
    }
}
