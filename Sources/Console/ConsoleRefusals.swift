import Broker
import PusherProtocol
import Synchronization

/// The requests and connections that were refused since the start, by app and code, for the overview.
///
/// Counted whether or not a page is open. There are as many entries as apps and codes, and unknown apps count as one.
package final class ConsoleRefusals: BrokerObserver {
    private struct Subject: Hashable {
        /// The app; `nil` if it is not known.
        let app: AppID?
        /// The status of a request, or the close code of a connection.
        let code: Int
    }

    private let counts = Mutex<[Subject: Int]>([:])

    func observedKinds(of app: AppID?) -> BrokerEventKinds { .refusals }

    func observe(_ event: BrokerEvent, of app: AppID?) {
        guard case .refused(let refusal) = event, let code = refusal.code,
            [.connection, .request].contains(refusal.subject)
        else { return }
        counts.withLock { $0[Subject(app: app, code: code), default: 0] += 1 }
    }

    /// Writes an array of objects with `app`, `code` and `count`, the largest count first; without apps that are gone.
    func write(to writer: inout JSONWriter, _ isKnown: (AppID) -> Bool) {
        let rows = counts.withLock { $0 }.filter { $0.key.app.map(isKnown) ?? true }
            .sorted { ($1.value, $0.key.code) < ($0.value, $1.key.code) }
        writer.beginArray()
        for (subject, count) in rows {
            writer.beginObject()
            writer.members([("app", subject.app?.text)])
            writer.members([("code", subject.code), ("count", count)])
            writer.endObject()
        }
        writer.endArray()
    }
}
