import Broker
import BrokerConfiguration
import Dispatch
import HTTP1
import Logging
import Observability
import PusherProtocol
import Shard
import Synchronization
import Webhooks

/// The webhooks that the console shows, and the dead letters that it sends again.
extension BrokerConsole {
    /// The maximum number of dead letters in a list, and of the characters of each one's events.
    private static let lettersMax = (count: 50, length: 2_048)
    /// The maximum number of requests that wait for the file; one more is answered with 503.
    private static let fileRequestsMax = 4

    /// Makes an answer that may wait for the disk, or for another process that writes to the file.
    ///
    /// One at a time and on a thread of its own: the threads of the runtime must not wait.
    ///
    /// - Parameter make: Makes the answer.
    /// - Returns: The answer; 503 if others wait already.
    func withFile(_ make: @escaping @Sendable () -> Response) async -> Response {
        guard fileRequests.add(1, ordering: .relaxed).newValue <= Self.fileRequestsMax else {
            fileRequests.subtract(1, ordering: .relaxed)
            let message = "Other requests wait for the file of webhooks.database: try again\n"
            return .text(message, status: 503)
        }
        defer { fileRequests.subtract(1, ordering: .relaxed) }
        return await withCheckedContinuation { continuation in
            fileQueue.async { continuation.resume(returning: make()) }
        }
    }

    /// The endpoints, the counters and the last dead letters, as JSON.
    func webhooks(_ registry: AppRegistry, _ reports: [EndpointReport]) -> Response {
        var writer = JSONWriter()
        writer.beginObject()
        writer.name("endpoints")
        writer.beginArray()
        let apps = registry.webhookApps.sorted { $0.id.text < $1.id.text }
        for app in apps {
            var ordinals: [String: Int] = [:]
            for endpoint in app.endpoints {
                let ordinal = ordinals[endpoint.url, default: 0]
                ordinals[endpoint.url] = ordinal + 1
                let report = reports.first {
                    $0.app == app.id && $0.url == endpoint.url && $0.ordinal == ordinal
                }
                writer.write(endpoint, of: app.id, report)
            }
        }
        writer.endArray()
        let counters = webhookCounters()
        writer.name("counters")
        writer.beginObject()
        writer.members([
            ("delivered", counters.delivered), ("failed", counters.failedAttempts),
            ("dead", counters.dead), ("queued", counters.queued), ("unsaved", counters.unsaved),
            ("dropped", counters.dropped),
        ])
        writer.endObject()
        // Without a file nothing outlives the attempts.
        if let path = configuration.webhooks.database { writeLetters(at: path, to: &writer) }
        writer.endObject()
        return .json(writer.bytes)
    }

    private func writeLetters(at path: String, to writer: inout JSONWriter) {
        var letters: [DeadLetter] = []
        var count = 0
        do throws(WebhookQueueError) {
            let queue = try WebhookQueue(reading: path)
            letters = try queue.deadLetters(countMax: Self.lettersMax.count)
            count = try queue.deadLetterCount()
        } catch {
            // The broker makes the file when an app has webhooks.
            if case .failed(let reason) = error {
                writer.name("problem")
                writer.string(reason)
            }
        }
        writer.name("deadLetterCount")
        writer.integer(count)
        writer.name("deadLetters")
        writer.beginArray()
        for letter in letters { writer.write(letter, lengthMax: Self.lettersMax.length) }
        writer.endArray()
    }

    /// Sends dead letters again, or deletes one.
    ///
    /// - Parameters:
    ///   - change: What to do.
    ///   - actor: Who does it.
    /// - Returns: The answer, with the number that was changed.
    func change(_ change: DeadLetterChange, by actor: ConsoleActor) -> Response {
        guard let path = configuration.webhooks.database else {
            return .text("webhooks.database is none: no dead letters are kept\n", status: 404)
        }
        let count: Int
        do throws(WebhookQueueError) {
            let queue = try WebhookQueue(reading: path)
            switch change {
            case .replay(let id): count = try queue.replay(id) ? 1 : 0
            case .replayAll: count = try queue.replayAll()
            case .delete(let id): count = try queue.delete(id) ? 1 : 0
            }
        } catch {
            return .text("The file of webhooks.database cannot be changed: \(error)\n", status: 503)
        }
        record(change.message, change.metadata(count: count), by: actor)
        return .json(Array("{\"count\":\(count)}".utf8))
    }
}

/// A change of dead letters.
enum DeadLetterChange: Sendable, Equatable {
    case replay(Int64)
    case replayAll
    case delete(Int64)

    fileprivate var message: String {
        switch self {
        case .replay, .replayAll: "dead letters are sent again"
        case .delete: "dead letter deleted"
        }
    }

    fileprivate func metadata(count: Int) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["count": "\(count)"]
        switch self {
        case .replay(let id), .delete(let id): metadata["id"] = "\(id)"
        case .replayAll: break
        }
        return metadata
    }
}

extension JSONWriter {
    fileprivate mutating func write(
        _ endpoint: WebhookConfiguration,
        of app: AppID,
        _ report: EndpointReport?
    ) {
        beginObject()
        name("app")
        string(app.text)
        name("url")
        string(endpoint.shownURL)
        name("events")
        beginArray()
        for kind in Set(endpoint.events).map(\.rawValue).sorted() { string(kind) }
        endArray()
        members([("prefix", endpoint.channelPrefix), ("suffix", endpoint.channelSuffix)])
        name("headers")
        beginArray()
        for header in endpoint.headers.keys.sorted() { string(header) }
        endArray()
        name("batching")
        boolean(endpoint.isBatching)
        if let report {
            name("isFailing")
            boolean(report.isFailing)
            members([
                ("delivered", report.counts.delivered), ("failed", report.counts.failedAttempts),
                ("dead", report.counts.dead), ("queued", report.queued),
                ("lastErrorTime", report.counts.lastErrorTime.map { Int($0) }),
            ])
            members([("lastError", report.counts.lastError)])
        }
        endObject()
    }

    fileprivate mutating func write(_ letter: DeadLetter, lengthMax: Int) {
        beginObject()
        members([
            // A number of 64 bits is not exact in JavaScript.
            ("id", "\(letter.id)"), ("app", letter.app.text), ("url", letter.shownURL),
            ("cause", letter.cause.rawValue), ("detail", letter.detail),
            ("events", String(letter.eventsJSON.prefix(lengthMax))),
        ])
        members([
            ("time", Int(letter.time)), ("givenUp", Int(letter.deathTime)),
            ("attempts", letter.attempts),
        ])
        name("isReplayed")
        boolean(letter.isReplayed)
        endObject()
    }
}
