import BrowserClient
import HTTP1
import HTTPServer
import Logging
import Net
import PusherProtocol
import Shard

/// A request of the console's page with a form.
final class ConsoleRequest: HTTPContentReceiver {
    /// What the form is for.
    enum Purpose {
        /// `password`, answered with a cookie.
        case signIn
        /// `socket_id` and `channel_name`, answered with the signature of a subscription.
        case authorize
        /// `id`, of the dead letter to send again; `all` for all.
        case replay
        /// `id`, of the dead letter to delete.
        case delete
    }

    private let purpose: Purpose
    private let console: BrokerConsole
    private let answers: DeferredAnswers
    private let loginPage: BrowserFile?

    init(
        _ purpose: Purpose,
        _ console: BrokerConsole,
        _ answers: DeferredAnswers,
        _ loginPage: BrowserFile? = nil
    ) {
        self.purpose = purpose
        self.console = console
        self.answers = answers
        self.loginPage = loginPage
    }

    func respond(to head: RequestHead, body: Span<UInt8>, on exchange: HTTPExchange) {
        let form = FormURLEncoded(decoding: body)
        switch purpose {
        case .authorize: exchange.respond(authorize(form, head))
        case .signIn: exchange.respond(signIn(form, head, exchange))
        case .replay, .delete: change(form, head, exchange)
        }
    }

    private func change(_ form: FormURLEncoded?, _ head: RequestHead, _ exchange: HTTPExchange) {
        let change: DeadLetterChange
        switch (purpose, form?["id"].flatMap { Int64($0) }) {
        case (.replay, let id?): change = .replay(id)
        case (.delete, let id?): change = .delete(id)
        case (.replay, nil) where form?["all"] != nil: change = .replayAll
        default: return exchange.respond(.text("id is missing, or not a number\n", status: 400))
        }
        let actor = console.actor(of: head, on: exchange.stream)
        answers.answer(exchange.respond) { [console] in
            await console.withFile { console.change(change, by: actor) }
        }
    }

    private func authorize(_ form: FormURLEncoded?, _ head: RequestHead) -> Response {
        guard let socketID = form?["socket_id"].flatMap(SocketID.init),
            let channel = form?["channel_name"],
            let answer = console.authorization(of: channel, for: socketID)
        else { return .text("Only the console's channel is signed here\n", status: 403) }
        console.sessions?.opens(socketID, head)
        return .json(answer)
    }

    private func signIn(
        _ form: FormURLEncoded?,
        _ head: RequestHead,
        _ exchange: HTTPExchange
    ) -> Response {
        guard let sessions = console.sessions else { return redirection(cookie: nil) }
        let peer = exchange.stream?.remoteAddress()
        let address = sessions.address(of: peer, head)
        switch sessions.signIn(form?["password"] ?? "", from: address) {
        case .accepted(let token, let number):
            console.log.info(
                "console: signed in",
                metadata: ["peer": "\(text(of: peer))", "session": "\(number)"]
            )
            let isSecure = exchange.stream?.isSecure == true
            return redirection(
                cookie: "\(ConsoleSessions.cookie)=\(token); Path=/; HttpOnly; SameSite=Strict; "
                    + "Max-Age=\(ConsoleSessions.lifetime)" + (isSecure ? "; Secure" : "")
            )
        case .wrongPassword:
            console.log.info(
                "console: sign-in refused: wrong password",
                metadata: ["peer": "\(text(of: peer))"]
            )
            return refusal("The password is wrong.", status: 401)
        case .tooManyFailures:
            return refusal("Too many attempts have failed: wait for a minute.", status: 429)
        }
    }

    private func text(of peer: SocketAddress?) -> String { peer.map { "\($0)" } ?? "unknown" }

    private func redirection(cookie: String?) -> Response {
        var response = Response(status: 303, fields: [Field("Location", "../")])
        if let cookie { response.fields.append(Field("Set-Cookie", cookie)) }
        return response
    }

    /// The page with the form again, and what was wrong.
    private func refusal(_ problem: String, status: Status) -> Response {
        guard let loginPage else { return .text(problem, status: status) }
        var response = Response(loginPage, isCompressed: false)
        response.status = status
        let page = String(decoding: loginPage.bytes, as: UTF8.self)
        response.body = Array(page.replacing("<!-- problem -->", with: problem).utf8)
        return response
    }
}
