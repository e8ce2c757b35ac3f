import DemoSite
import HTTP1
import HTTPServer
import LiveCollections

/// What the text's backend answers: the tutorial's route at the root of the site, and its own below `/text/`.
struct TextRoutes: Sendable {
    /// The most characters of an old device's identifier.
    static let deviceIDLengthMax = 100

    let text: SharedText

    var all: [Route] {
        [
            .post("/update_text") { try await updateText(RequestFields($0)) },
            .get("snapshot") { _ in try .encoding(await text.snapshot) },
            .get("operations") { try .encoding(try await recovery($0)) },
            .post("operations") { try .encoding(try await take($0.decode(TextBatch.self))) },
        ]
    }

    private struct Success: Encodable { let success = 200 }
    private struct Taken: Encodable { let serial: UInt64 }

    /// What the tutorial's app sends at each key, and is answered.
    private func updateText(_ fields: RequestFields) async throws -> Response {
        let device = try fields.text("from", limit: Self.deviceIDLengthMax)
        let whole = try fields.verbatim("text", limit: TextLimits().length)
        do {
            try await text.take(whole, from: device)
        } catch let refusal as TextRefusal {
            throw Self.answer(to: refusal)
        }
        return try .encoding(Success())
    }

    private func take(_ batch: TextBatch) async throws -> Taken {
        do {
            return Taken(serial: try await text.take(batch))
        } catch let refusal as TextRefusal {
            throw Self.answer(to: refusal)
        }
    }

    private func recovery(_ request: HTTPRequest) async throws -> TextRecovery {
        func number(_ field: String) throws(RequestError) -> UInt64 {
            guard let value = request.query[field] else { throw .missing(field: field) }
            guard let number = UInt64(value) else { throw .notAnInteger(field: field) }
            return number
        }
        return await text.recovery(after: try number("after"), epoch: try number("epoch"))
    }

    /// 409 asks the client to load the text and to make its edits anew, 422 to forget them.
    private static func answer(to refusal: TextRefusal) -> RequestError {
        switch refusal {
        case .stale: .refused(409, "The text has moved on: \(refusal).")
        case .invalid: .refused(422, "The edits cannot be taken: \(refusal).")
        }
    }
}
