import DemoSite
import HTTP1
import HTTPServer
import LiveCollections

/// The routes of the text: the tutorial's at the root of the site, the others below `/text/`.
struct TextRoutes: Sendable {
    /// The maximum length of a device ID, in characters.
    static let deviceIDLengthMax = 100

    let text: SharedText

    var all: [Route] {
        [
            .post("/update_text") { try await updateText(RequestFields($0)) },
            .get("snapshot") { _ in try .encoding(await text.snapshot) },
            .get("operations") { try .encoding(try await recovery($0)) },
            .post("operations") { try .encoding(try await commit($0.decode(TextBatch.self))) },
        ]
    }

    private struct Success: Encodable { let success = 200 }
    private struct Committed: Encodable { let serial: UInt64 }

    /// Handles the tutorial's request, which its app sends at each keystroke.
    private func updateText(_ fields: RequestFields) async throws -> Response {
        let device = try fields.text("from", limit: Self.deviceIDLengthMax)
        let whole = try fields.verbatim("text", limit: TextLimits().length)
        do {
            try await text.commit(whole, from: device)
        } catch let refusal as TextRefusal {
            throw Self.answer(to: refusal)
        }
        return try .encoding(Success())
    }

    private func commit(_ batch: TextBatch) async throws -> Committed {
        do {
            return Committed(serial: try await text.commit(batch))
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

    /// Returns the error for a refusal: 409 means load the text and reapply the edits, 413 send parts, 422 revert the
    /// edits.
    private static func answer(to refusal: TextRefusal) -> RequestError {
        switch refusal {
        case .stale: .refused(409, "The edits are out of date: \(refusal).")
        case .tooLarge: .refused(413, "The edits are too long: \(refusal).")
        case .invalid: .refused(422, "The edits are invalid: \(refusal).")
        }
    }
}
