import Broker
import Net
import Synchronization

/// An archive that answers only when a test has it answer.
final class HeldArchive: MessageArchive {
    private let requests = Mutex<[ArchiveRequest]>([])

    let isFailing = false
    let unstoredByteCount = 0

    func addUnstored(_ byteCount: Int) {}

    func post(_ request: ArchiveRequest) { requests.withLock { $0.append(request) } }

    /// The queries that wait, without those taken before.
    func takeReads() -> [(query: ArchiveQuery, read: ArchiveRead, shard: Int, number: UInt64)] {
        requests.withLock { requests in
            defer { requests = [] }
            return requests.compactMap {
                guard case .read(let query, let read, let shard, let number) = $0 else {
                    return nil
                }
                return (query, read, shard, number)
            }
        }
    }
}
