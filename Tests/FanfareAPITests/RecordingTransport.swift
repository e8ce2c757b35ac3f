import FanfareAPI
import Synchronization

/// A transport that records requests and returns scripted responses.
final class RecordingTransport: APITransport {
    private let answer: @Sendable (APIRequest) throws(FanfareAPIError) -> APIResponse
    private let log = Mutex<[APIRequest]>([])

    var requests: [APIRequest] { log.withLock { $0 } }

    init(_ answer: @escaping @Sendable (APIRequest) throws(FanfareAPIError) -> APIResponse) {
        self.answer = answer
    }

    convenience init(_ status: Int, _ body: String) {
        self.init { _ in APIResponse(status: status, body: Array(body.utf8)) }
    }

    func send(_ request: APIRequest) async throws(FanfareAPIError) -> APIResponse {
        log.withLock { $0.append(request) }
        return try answer(request)
    }
}
