import CommandSupport
import Net
import PusherProtocol

/// The users of a presence channel that grows: whom each of them knows.
final class JoinsCrowd: Crowd {
    /// Who is connected.
    private(set) var admission: Admission
    /// How many have asked to join.
    private(set) var begunCount = 0
    /// How many have the list of members.
    private(set) var joinedCount = 0
    /// How many members all of them know, together: those of the lists, and those they were told of.
    private(set) var knownCount = 0
    /// How many notices there were.
    private(set) var noticeCount = 0
    /// The first thing that went wrong.
    private(set) var failure: BenchError?

    private let plan: JoinsPlan
    private let generator: Generator
    private let run: UInt32
    private var scanner: NoticeScanner
    private var users: [(device: Device, socketID: SocketID)] = []
    /// How many members each device knows.
    private var known: [Int]

    /// A crowd that nobody belongs to yet.
    ///
    /// - Parameters:
    ///   - plan: Says how many they are.
    ///   - generator: Makes the connections.
    init(plan: JoinsPlan, generator: Generator) {
        self.plan = plan
        self.generator = generator
        admission = Admission(count: plan.userCount)
        known = [Int](repeating: 0, count: plan.userCount)
        run = .random(in: 0..<1 << 24)
        scanner = NoticeScanner(run: run)
    }

    /// Lets more of them connect, and shows how many are.
    ///
    /// - Parameter now: The time.
    /// - Returns: Whether all are connected.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func assemble(at now: MonotonicTime) throws(BenchError) -> Bool {
        try generator.assemble(self, &admission, at: now)
    }

    /// Lets the next one join.
    func inviteNext() {
        let marker = Marker(run: run, sequence: UInt32(begunCount), sentAt: 0)
        let userID = String(decoding: marker.data(length: Marker.length), as: UTF8.self)
        let (device, socketID) = users[begunCount]
        begunCount += 1
        device.subscribe(
            generator.subject.subscription(to: plan.channel, of: socketID, as: userID)
        )
    }

    /// Whether all who have asked to join are in, and everybody knows everybody.
    var isSettled: Bool { joinedCount == begunCount && knownCount == begunCount * begunCount }

    /// What is wrong, in a line; nil if everybody knows everybody, each once.
    var fault: String? {
        let missing = known.reduce(0) { $0 + max(0, plan.userCount - $1) }
        let surplus = known.reduce(0) { $0 + max(0, $1 - plan.userCount) }
        let faults = [
            missing > 0 ? "\(grouped(missing)) members never told of" : nil,
            surplus > 0 ? "\(grouped(surplus)) members told of twice" : nil,
        ].compactMap { $0 }
        return faults.isEmpty ? nil : faults.joined(separator: ", ")
    }

    // MARK: Crowd

    func greeted(_ device: Device, as socketID: SocketID) {
        users.append((device, socketID))
        admission.admit(device)
    }

    func acknowledged(_ device: Device, at now: MonotonicTime) {
        joinedCount += 1
        count(device.memberCount, by: device)
    }

    func heard(_ text: Span<UInt8>, by device: Device, at now: MonotonicTime) -> Bool {
        guard let notice = scanner.find(in: text), notice.isJoin else { return false }
        noticeCount += 1
        count(1, by: device)
        return true
    }

    private func count(_ members: Int, by device: Device) {
        known[device.index] += members
        knownCount += members
    }

    func failed(_ error: BenchError) {
        if failure == nil { failure = error }
    }
}
