import Primitives

extension Fanfare {
    /// The client's user.
    public var user: User { User(client: self) }

    /// Signs the user in now or when the client connects, and again on each later connection.
    ///
    /// ``ClientOptions/Authorization/user`` authenticates the user. The client then receives the events sent to the
    /// user. It joins presence channels as this user if the authorisation has no `channel_data`.
    public func signIn() { act { $0.startSigningIn() } }

    /// Waits until the broker has confirmed the sign-in.
    ///
    /// - Returns: The user.
    /// - Throws: A ``FanfareError`` when the backend or the broker refuses, when ``signIn()`` was not called, or when
    ///   the client disconnects or fails; `CancellationError` when the task is cancelled.
    @discardableResult
    public func waitUntilSignedIn() async throws -> SignedInUser {
        let buffer = EventBuffer<SignedInUser>(policy: .keepsNewest(limit: 1))
        try state.withLock { state in
            let signIn = state.session.signIn
            if let user = signIn.user {
                buffer.send(user)
                return
            }
            if case .refused(let error) = signIn.state { throw error }
            if case .failed(let error) = state.session.status { throw error }
            guard signIn.isWanted else {
                throw FanfareError.signInRefused(message: "signIn() was not called")
            }
            state.signInWaiters.add(buffer)
        }
        guard let user = try await buffer.next() else { throw CancellationError() }
        return user
    }

    /// Calls `perform` after each successful sign-in.
    ///
    /// - Parameter perform: Called once for each connection, on the actor that it is isolated to.
    /// - Returns: A token. Releasing it keeps the callback.
    @discardableResult
    public func onSignIn(
        @_inheritActorContext perform:
            @escaping @Sendable @isolated(any) (SignedInUser) -> Void
    ) -> ListenerToken {
        listen(to: \.signIns, perform)
    }
}
