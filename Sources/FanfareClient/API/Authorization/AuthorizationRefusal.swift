/// A refusal by the app's backend, for a closure of ``ChannelAuthorizer`` or ``UserAuthenticator`` to throw.
///
/// The subscription or the sign-in fails without another attempt. After a status of 408, 429 or from 500 on, the client
/// tries again, as after any other error of a closure.
public struct AuthorizationRefusal: Error, Sendable, Hashable {
    let status: Int
    let body: String

    /// Creates a refusal.
    ///
    /// - Parameters:
    ///   - status: The HTTP status of the backend's response; ``FanfareError/status`` of the resulting error.
    ///   - body: The reason in the response, for a developer.
    public init(status: Int = 403, body: String = "") {
        self.status = status
        self.body = body
    }
}
