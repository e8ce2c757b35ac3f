package import DemoSite
package import HTTP1
import HTTPServer

/// A site of demos without sockets, with a database in memory and a ``Recorder`` as its broker.
package struct SiteProbe: Sendable {
    /// The recorder of the events.
    package let recorder = Recorder()
    /// The environment of the demos.
    package let environment: DemoEnvironment
    private let routes: SiteRoutes

    /// A response.
    package struct Answer: Sendable {
        /// The status code.
        package var status: Int
        /// The content.
        package var body: String
        /// The whole response.
        package var response: Response

        /// The media type.
        package var type: String? { response.field("content-type") }
    }

    /// Opens a database for some demos.
    package init(_ demos: Demo...) async throws {
        let database = try demos.migrations.open(nil)
        environment = DemoEnvironment(
            database: database,
            outbox: try Outbox(database, trigger: recorder) { _ in }
        )
        routes = try await SiteRoutes(
            demos: demos,
            environment: environment,
            app: SignedApp(key: "app-key", secret: "app-secret"),
            broker: PublicBroker(key: "app-key", host: nil, port: 6001, tls: false)
        )
    }

    /// Returns the response to a request.
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

    /// Closes the outbox and returns all events.
    package func events() async -> [Recorder.Event] {
        await environment.outbox.close(within: .seconds(60))
        return recorder.events
    }

    /// Returns the request as a server receives it.
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
