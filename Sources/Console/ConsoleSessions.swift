import Broker
import BrokerConfiguration
import Digests
import HTTP1
import Net
import PusherProtocol
import Shard
import Synchronization

/// Who has signed in at the console: by its password, for twelve hours, with a cookie.
final class ConsoleSessions: Sendable {
    /// The result of an attempt to sign in.
    enum SignIn: Equatable {
        /// The password was right; the token is the value of the cookie, the number is for the log.
        case accepted(token: String, number: Int)
        case wrongPassword
        /// Too many attempts have failed within a minute.
        case tooManyFailures
    }

    private struct State {
        /// The sessions by their tokens.
        var sessions: [String: Session] = [:]
        var lastNumber = 0
        /// The pages of sessions that have ended.
        var endedPages: [SocketID] = []
        /// The failures of each address in this minute.
        var failures: [ClientAddress?: Int] = [:]
        /// The end of this minute.
        var minuteEnd = MonotonicTime.current
    }

    private struct Session {
        let end: MonotonicTime
        let number: Int
        /// The connections of its pages, the newest last.
        var pages: [SocketID] = []
    }

    /// The name of the cookie.
    static let cookie = "fanfare_console"
    /// The lifetime of a session, in seconds.
    static let lifetime = 12 * 3_600
    /// The length of a session's token, in bytes.
    private static let tokenLength = 64
    /// The maximum number of sessions; one more ends the oldest.
    private static let sessionsMax = 100
    /// The maximum number of pages of a session; one more ends the oldest.
    private static let pagesMax = 50
    /// The maximum number of failures of an address in a minute, and of the addresses that are counted.
    ///
    /// There is none for all addresses together: anybody could lock out everybody. Further addresses are not counted, since
    /// the password has at least twelve characters.
    private static let failuresMax = (each: 5, addresses: 4_096)
    private static let message = "password"

    private let state = Mutex(State())
    /// Compares signatures, whose time does not depend on the password.
    private let signature: String
    private let verifier: AppSecret
    private let proxies: TrustedProxies

    /// Creates the sessions of a configuration with a password.
    init(_ configuration: Configuration) {
        // A signature by the password as the key; guesses are signed the same way, and both compared in constant time.
        signature = AppSecret(configuration.console.password ?? "").sign(Self.message)
        verifier = AppSecret(Hex.random(length: 64))
        proxies = TrustedProxies(configuration.admission.trustedProxies)
    }

    /// Signs in with a password.
    ///
    /// - Parameters:
    ///   - password: The password that was entered.
    ///   - address: Where the request comes from; `nil` if unknown.
    ///   - now: The time.
    /// - Returns: Whether it is the password, and the token of the new session.
    func signIn(
        _ password: String,
        from address: ClientAddress?,
        at now: MonotonicTime = .current
    ) -> SignIn {
        let isRight = isPassword(password)
        return state.withLock { state in
            if now >= state.minuteEnd {
                state.failures = [:]
                state.minuteEnd = now.advanced(by: .seconds(60))
            }
            let count = state.failures[address] ?? 0
            guard count < Self.failuresMax.each else { return .tooManyFailures }
            guard isRight else {
                if count > 0 || state.failures.count < Self.failuresMax.addresses {
                    state.failures[address] = count + 1
                }
                return .wrongPassword
            }
            Self.removeExpired(&state, at: now)
            if state.sessions.count >= Self.sessionsMax,
                let oldest = state.sessions.min(by: { $0.value.end < $1.value.end })
            {
                Self.end(oldest.key, &state)
            }
            let token = Hex.random(length: Self.tokenLength)
            state.lastNumber += 1
            let end = now.advanced(by: .seconds(Self.lifetime))
            state.sessions[token] = Session(end: end, number: state.lastNumber)
            return .accepted(token: token, number: state.lastNumber)
        }
    }

    /// Ends the session of a request.
    func signOut(_ head: RequestHead) {
        guard let token = Self.token(of: head) else { return }
        state.withLock { Self.end(token, &$0) }
    }

    /// Records that a page of a request's session connects, whose connection ends with the session.
    func opens(_ page: SocketID, _ head: RequestHead) {
        guard let token = Self.token(of: head) else { return }
        state.withLock { state in
            guard var session = state.sessions[token] else { return }
            if session.pages.count >= Self.pagesMax {
                state.endedPages.append(session.pages.removeFirst())
            }
            session.pages.append(page)
            state.sessions[token] = session
        }
    }

    /// Returns the connections of pages whose sessions have ended since the last call, to be closed.
    func takeEndedPages(at now: MonotonicTime = .current) -> [SocketID] {
        state.withLock { state in
            Self.removeExpired(&state, at: now)
            defer { state.endedPages = [] }
            return state.endedPages
        }
    }

    private static func removeExpired(_ state: inout State, at now: MonotonicTime) {
        for (token, session) in state.sessions where session.end <= now { end(token, &state) }
    }

    private static func end(_ token: String, _ state: inout State) {
        guard let session = state.sessions.removeValue(forKey: token) else { return }
        state.endedPages += session.pages
    }

    /// Whether a request belongs to a session.
    func isSignedIn(_ head: RequestHead, at now: MonotonicTime = .current) -> Bool {
        number(of: head, at: now) != nil
    }

    /// The number of the session that a request belongs to; `nil` if it belongs to none.
    func number(of head: RequestHead, at now: MonotonicTime = .current) -> Int? {
        guard let token = Self.token(of: head) else { return nil }
        return state.withLock { $0.sessions[token].flatMap { $0.end > now ? $0.number : nil } }
    }

    /// The address of a request's client.
    func address(of peer: SocketAddress?, _ head: RequestHead) -> ClientAddress? {
        proxies.client(of: peer, head)
    }

    private func isPassword(_ text: String) -> Bool {
        let guess = AppSecret(text).sign(Self.message)
        // Signed once more by a random key, so that the time of the comparison tells nothing of the signature.
        let code = Array(verifier.sign(guess).utf8)
        return verifier.verify(code.span, of: Array(signature.utf8).span)
    }

    private static func token(of head: RequestHead) -> String? {
        for field in head.fields("cookie") {
            for part in field.utf8.split(separator: UInt8(ascii: ";")) {
                let pair = part.drop { $0 == UInt8(ascii: " ") }
                guard pair.starts(with: "\(cookie)=".utf8) else { continue }
                let token = pair.dropFirst(cookie.utf8.count + 1)
                return token.count == tokenLength ? String(Substring(token)) : nil
            }
        }
        return nil
    }
}
