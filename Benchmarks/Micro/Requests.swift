import HTTP1
import PusherProtocol

/// A signed request to the HTTP API.
enum Requests {
    static var subjects: [Subject] { [parse, verify] }

    private static let path = "/apps/1/events"
    private static let body = Array(#"{"name":"b","channel":"items","data":"hello"}"#.utf8)
    private static let secret = AppSecret("app-secret")
    private static let time: Int64 = 1_700_000_000
    private static let query = RequestSignature.sign(
        method: "POST",
        path: path,
        body: body.span,
        key: "app-key",
        secret: secret,
        timestamp: time
    )

    private static var parse: Subject {
        let head = """
            POST \(path)?\(query) HTTP/1.1\r
            Host: 127.0.0.1:6001\r
            Content-Type: application/json\r
            Content-Length: \(body.count)\r
            \r\n
            """
        let request = Array(head.utf8) + body
        return Subject(name: "http-parse", operation: "a request of \(request.count) bytes") {
            var parser = RequestParser()
            var index = 0
            do {
                while true {
                    switch try parser.advance(over: request.span, from: &index) {
                    case .needsMore: fail("the request is incomplete")
                    case .head(let head): consume(head.contentLength)
                    case .content(let content):
                        consume(content.count)
                        return
                    }
                }
            } catch {
                fail("\(error)")
            }
        }
    }

    private static var verify: Subject {
        let path = Array(path.utf8)
        return Subject(
            name: "signature",
            operation: "a request's signature and its body's digest, verified"
        ) {
            do {
                try RequestSignature.verify(
                    method: "POST",
                    path: path.span,
                    parameters: QueryParameters(query),
                    body: body.span,
                    now: time
                ) { _ in .app(secret) }
            } catch {
                fail("\(error)")
            }
        }
    }
}
