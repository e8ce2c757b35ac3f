import FanfareClient
import FanfareTesting
import Foundation
import LiveCollections
import Synchronization

/// A backend that orders the edits of one broker's clients and publishes them.
final class TextBackend: Sendable {
    private let authority: Mutex<TextAuthority>
    private let broker: ScriptedBroker
    private let isReachable = Mutex(true)
    /// The number of requests of each kind.
    let requests = Mutex<[String]>([])

    struct Unreachable: Error {}

    init(_ broker: ScriptedBroker) throws {
        self.broker = broker
        authority = Mutex(try TextAuthority(replica: .random()))
    }

    var string: String { authority.withLock { $0.document.string } }

    private func note(_ request: String) throws {
        requests.withLock { $0.append(request) }
        guard isReachable.withLock({ $0 }) else { throw Unreachable() }
    }

    func setReachable(_ value: Bool) { isReachable.withLock { $0 = value } }

    func source(_ client: Fanfare) -> ChannelTextSource {
        ChannelTextSource(
            channel: client.channel("collabo"),
            snapshot: {
                try self.note("snapshot")
                return self.authority.withLock { $0.snapshot }
            },
            recovery: { serial, epoch in
                try self.note("recovery \(serial) \(epoch)")
                return self.authority.withLock { $0.recovery(after: serial, epoch: epoch) }
            },
            send: { batch in
                try self.note("send")
                let entries = try self.authority.withLock {
                    (authority) throws(TextRefusal) in try authority.commit(batch)
                }
                for entry in entries { try self.broker.tell(entry) }
            }
        )
    }
}

extension ScriptedBroker {
    func tell(_ entry: TextEntry) throws {
        let json = String(decoding: try JSONEncoder().encode(entry), as: UTF8.self)
        try trigger(ChannelTextSource.event.text, on: ["collabo"], text: json)
    }
}
