import CommandSupport
import Net
import PusherProtocol

/// The users of a presence channel, and the number of members that each of them knows.
final class JoinsClients: RampedClients {
    var ramp: ConnectionRamp
    /// Users that have sent their subscription.
    private(set) var startedCount = 0
    /// Users that have received the list of members.
    private(set) var joinedCount = 0
    /// The sum over all users of the members that each knows, from the list and from notices.
    private(set) var knownCount = 0
    private(set) var noticeCount = 0
    let generator: LoadGenerator

    private let count: Int
    private let channel: ChannelName
    private let run = UInt32.random(in: 0..<1 << 24)
    private var scanner: PresenceNoticeScanner
    private var users: [BenchClient] = []
    /// The members that each user knows, by the index of its client.
    private var known: [Int]

    init(count: Int, of channel: ChannelName, generator: LoadGenerator) {
        self.count = count
        self.channel = channel
        self.generator = generator
        ramp = ConnectionRamp(count: count)
        known = [Int](repeating: 0, count: count)
        scanner = PresenceNoticeScanner(run: run)
    }

    func joinNext() {
        let userID = EventMarker(run: run, sequence: UInt32(startedCount), sentAt: 0).text
        users[startedCount].subscribe(to: channel, as: userID)
        startedCount += 1
    }

    /// Whether all subscribed users know all subscribed users.
    var isComplete: Bool {
        joinedCount == startedCount && knownCount == startedCount * startedCount
    }

    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, count - $1) }
        let repeated = known.reduce(0) { $0 + max(0, $1 - count) }
        return joined([
            counted(missing, "member notices missing"),
            counted(repeated, "member notices repeated"),
        ])
    }

    // MARK: BenchClientDelegate

    func clientConnected(_ client: BenchClient) {
        users.append(client)
        ramp.markConnected(client)
    }

    func clientSubscribed(_ client: BenchClient, at now: MonotonicTime) {
        joinedCount += 1
        add(client.memberCount, by: client)
    }

    func clientReceived(_ text: Span<UInt8>, by client: BenchClient, at now: MonotonicTime) -> Bool
    {
        guard let notice = scanner.find(in: text), notice.isJoin else { return false }
        noticeCount += 1
        add(1, by: client)
        return true
    }

    private func add(_ members: Int, by client: BenchClient) {
        known[client.index] += members
        knownCount += members
    }
}
