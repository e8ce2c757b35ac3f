import Digests
import Testing

@testable import FanfareServer

/// Signs a sign-in by hand, independently of the broker's own code.
func signInMessage(
    _ userData: String,
    socketID: String,
    key: String = "app-key",
    secret: String = "app-secret"
) -> String {
    let text = Array("\(socketID)::user::\(userData)".utf8)
    let secret = Array(secret.utf8)
    let signature = Hex.encode(HMACSHA256(key: secret.span).code(for: text.span))
    return
        #"{"event":"pusher:signin","data":{"auth":"\#(key):\#(signature)","user_data":"\#(quoted(userData))"}}"#
}

/// The answer to a sign-in.
func signInSuccess(_ userData: String) -> String {
    #"{"event":"pusher:signin_success","data":{"user_data":"\#(quoted(userData))"}}"#
}

/// The message with the status of watched users.
func watchlistEvents(online: [String] = [], offline: [String] = []) -> String {
    let groups = [("online", online), ("offline", offline)].filter { !$0.1.isEmpty }
        .map { name, users in
            let ids = users.map { "\"\($0)\"" }.joined(separator: ",")
            return #"{"name":"\#(name)","user_ids":[\#(ids)]}"#
        }
    return
        #"{"event":"pusher_internal:watchlist_events","data":{"events":[\#(groups.joined(separator: ","))]}}"#
}

extension WebSocketWire {
    /// Signs in, and waits for the answer.
    func signIn(
        as user: String,
        info: String? = nil,
        watching watchlist: [String]? = nil,
        socketID: String
    ) async throws {
        let info = info.map { #","user_info":\#($0)"# } ?? ""
        let list = watchlist.map { users in
            #","watchlist":[\#(users.map { "\"\($0)\"" }.joined(separator: ","))]"#
        }
        let userData = #"{"id":"\#(user)"\#(info)\#(list ?? "")}"#
        try send(signInMessage(userData, socketID: socketID))
        #expect(try await nextText() == signInSuccess(userData))
    }

    /// Expects an error with a code, and that the connection stays open.
    func expectError(
        _ code: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let text = try await nextText()
        #expect(
            text.hasPrefix(#"{"event":"pusher:error","data":{"code":\#(code),"message":""#),
            "\(text)",
            sourceLocation: sourceLocation
        )
        try await expectNothing(sourceLocation: sourceLocation)
    }

    /// Expects an error with a code, and to be closed with it.
    func expectEnd(
        _ code: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let text = try await nextText()
        #expect(
            text.hasPrefix(#"{"event":"pusher:error","data":{"code":\#(code),"message":""#),
            "\(text)",
            sourceLocation: sourceLocation
        )
        #expect(try await next().closeCode == code, sourceLocation: sourceLocation)
    }
}

extension TestBroker {
    /// Connects, and signs in.
    func signedIn(
        as user: String,
        info: String? = nil,
        watching watchlist: [String]? = nil
    ) async throws -> (WebSocketWire, socketID: String) {
        let (client, socketID) = try await connected()
        try await client.signIn(as: user, info: info, watching: watchlist, socketID: socketID)
        return (client, socketID)
    }

    /// Requests that a user's connections are closed.
    func terminate(_ request: SignedRequest) async throws -> Answer {
        try await Wire(port: port).ask(request)
    }
}
