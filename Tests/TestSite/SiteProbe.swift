package import DemoSite
package import HTTP1
import HTTPServer

/// A site of demos that is asked without a socket; its database is in memory, and its broker a ``Recorder``.
package struct SiteProbe: Sendable {
    /// What the broker was told.
    package let recorder = Recorder()
    /// What the demos work with.
    package let backstage: Backstage
    private let routes: SiteRoutes

    /// What a client reads.
    package struct Answer: Sendable {
        /// The status code.
        package var status: Int
        /// The content.
        package var body: String
        /// All of it.
        package var response: Response

        /// The media type.
        package var type: String? { response.field("content-type") }
    }

    /// Opens a database for some demos.
    package init(_ demos: Demo...) async throws {
        backstage = Backstage(
            database: try demos.migrations.open(nil),
            outbox: Outbox(trigger: recorder, pauses: []) { _ in }
        )
        routes = try await SiteRoutes(
            demos: demos,
            backstage: backstage,
            app: SignedApp(key: "app-key", secret: "app-secret"),
            broker: PublicBroker(key: "app-key", host: nil, port: 6001, tls: false)
        )
    }

    /// The answer to a request.
    package func answer(
        _ method: Method,
        _ target: String,
        _ body: String = "",
        type: String? = nil,
        accept: String? = nil
    ) async throws -> Answer {
        var fields: [Field] = []
        if let type { fields.append(Field("Content-Type", type)) }
        if let accept { fields.append(Field("Accept", accept)) }
        let request = Request(
            method,
            target,
            host: "site.example",
            fields: fields,
            body: Array(body.utf8)
        )
        let response = await routes.answer(try received(request))
        return Answer(
            status: response.status.code,
            body: String(decoding: response.body, as: UTF8.self),
            response: response
        )
    }

    /// The events that the broker was told, all of them; afterwards it is told nothing more.
    package func events() async -> [Recorder.Event] {
        await backstage.outbox.close()
        return recorder.events
    }

    /// The request as it arrives at the other end of a connection.
    private func received(_ request: Request) throws -> HTTPRequest {
        let bytes = try request.encode()
        var parser = RequestParser()
        var index = 0
        guard case .head(let head) = try parser.advance(over: bytes.span, from: &index),
            case .content(let content) = try parser.advance(over: bytes.span, from: &index)
        else { throw RequestError.refused(400, "\(request.target) is no request") }
        return HTTPRequest(head: head, body: content.copy(from: bytes.span))
    }
}
