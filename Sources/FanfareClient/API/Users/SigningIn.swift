public import Dispatch
import Synchronization

extension FanfareClient {
    /// The user of this client.
    public var user: User { User(client: self) }

    /// Tells the broker who the user is, now or as soon as the client is connected, and again with each connection.
    ///
    /// Who that is, ``ClientOptions/userAuthenticator`` says. The client then hears what a backend sends to the user,
    /// and joins presence channels as them where the authorisation names nobody else.
    public func signIn() { act { $0.startSigningIn() } }

    /// Waits until the broker knows who the user is.
    ///
    /// - Returns: The user.
    /// - Throws: A ``FanfareError`` when backend or broker refuse, when ``signIn()`` was not called, or when the client
    ///   ends; `CancellationError` when the task is cancelled.
    @discardableResult
    public func waitUntilSignedIn() async throws -> SignedInUser {
        let buffer = EventBuffer<SignedInUser>(limit: 1, policy: .keepsNewest)
        try state.withLock { state in
            let signIn = state.session.signIn
            if let user = signIn.user { return buffer.send(user) }
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

    /// Calls back on the main actor each time that the broker has learnt who the user is.
    ///
    /// - Parameter perform: Called once for each connection.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSignIn(perform: @escaping @MainActor @Sendable (SignedInUser) -> Void) -> Binding
    {
        onSignIn(on: .main) { user in MainActor.assumeIsolated { perform(user) } }
    }

    /// Calls back on a serial queue each time that the broker has learnt who the user is.
    ///
    /// - Parameters:
    ///   - queue: A serial queue.
    ///   - perform: Called once for each connection.
    /// - Returns: What to unbind by; the binding lives on without it.
    @discardableResult
    public func onSignIn(
        on queue: DispatchQueue,
        perform: @escaping @Sendable (SignedInUser) -> Void
    ) -> Binding {
        add(to: \.signIns, on: .queue(queue), perform)
    }
}
