import TestRandom

@testable import LiveCollections

/// A simulation of a backend, devices and a network that loses, repeats, delays and reorders, from one seed.
struct TextWorld {
    /// A deliberate fault of a device, which the tests must detect.
    enum Fault {
        /// Its requests for missed entries return nothing.
        case neverRecovers
        /// It applies entries as if each were the next.
        case ignoresGaps
        /// It reapplies its edits whenever it loads the text, also accepted ones.
        case sendsTwice
        /// It does not hand back the text of refused edits.
        case hidesRefusals
    }

    struct Device {
        var session: TextSession
        var isOnline = true
        /// The entries that the device has not read.
        var inbox: [TextEntry] = []
        var sending: (batch: TextBatch, outcome: TextSession.Outcome?)?
        var fetching: (request: TextSession.Fetch, answer: TextRecovery?)?
        /// The text of a view that applies each splice.
        var view = ""
    }

    /// A client of the well-known tutorial: it shows the whole text and posts it at each change.
    struct OldDevice {
        var name: String
        var screen = ""
        var inbox: [(time: Duration, text: String, device: String)] = []
        var posts: [(time: Duration, text: String)] = []
    }

    var random: SeededRandom
    var authority: TextAuthority
    var devices: [Device] = []
    var oldDevices: [OldDevice] = []
    var now = Duration.zero
    let fault: Fault?
    /// Whether the backend refuses some batches, as invalid or too large.
    let refusesBatches: Bool

    /// Each typed scalar is unique.
    private var typedCount: UInt32 = 0
    var typed: Set<Unicode.Scalar> = []
    /// The scalars deleted by any client, and those deleted by clients with operations.
    var deleted: Set<Unicode.Scalar> = []
    var deletedExactly: Set<Unicode.Scalar> = []
    /// The scalars of refused edits.
    var handedBack: Set<Unicode.Scalar> = []
    private(set) var refusalCount = 0

    init(seed: UInt64, fault: Fault? = nil, refusesBatches: Bool = false) throws {
        random = SeededRandom(seed: seed)
        self.fault = fault
        self.refusesBatches = refusesBatches
        authority = try TextAuthority(replica: .random(using: &random))
        for _ in 0..<Int.random(in: 3...5, using: &random) { devices.append(newDevice([])) }
        let text = randomText(80)
        var first = TextDocument(replica: .random(using: &random))
        _ = try authority.commit(try first.replace(0..<0, with: text))
        note(typed: text, deleted: [], isExact: true)
        tellOldDevices()
        for index in 0..<Int.random(in: 0...2, using: &random) {
            oldDevices.append(OldDevice(name: "old-\(index)"))
        }
    }

    private mutating func newDevice(_ unsent: [TextBatch]) -> Device {
        var session = TextSession(replica: .random(using: &random), unsent: unsent)
        session.reconnected()
        return Device(session: session)
    }

    /// Runs random steps, then delivers all messages.
    mutating func run(steps: Int) {
        for _ in 0..<steps { step() }
        settle()
    }

    private mutating func step() {
        now += .milliseconds(Int.random(in: 0...20, using: &random))
        deliverOld()
        let index = Int.random(in: 0..<devices.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<26: edit(index)
        case 26..<44: exchange(index)
        case 44..<72: read(index)
        case 72..<77: cut(index)
        case 77..<82: connect(index)
        case 82: reload(index)
        case 83: compact()
        default: oldStep()
        }
    }

    // MARK: New clients

    private mutating func edit(_ index: Int) {
        // A view must have the text before its user can edit it.
        guard devices[index].session.isLoaded else { return }
        let units = Array(devices[index].view.unicodeScalars)
        let range = randomRange(in: units.count)
        let typed = randomText()
        note(typed: typed, deleted: Array(units[range]), isExact: true)
        let start = String(String.UnicodeScalarView(units[..<range.lowerBound])).utf16.count
        let length = String(String.UnicodeScalarView(units[range])).utf16.count
        let splice = TextSplice(start..<(start + length), typed)
        try? devices[index].session.replace(splice.range, with: typed)
        splice.apply(to: &devices[index].view)
    }

    /// Advances a request or its answer by one step, if it is not lost.
    private mutating func exchange(_ index: Int) {
        guard devices[index].isOnline else { return }
        let isLost = Int.random(in: 0..<8, using: &random) == 0
        if Bool.random(using: &random) { send(index, isLost) } else { fetch(index, isLost) }
    }

    mutating func send(_ index: Int, _ isLost: Bool) {
        guard let sending = devices[index].sending else {
            if let batch = devices[index].session.nextBatch() {
                devices[index].sending = (batch, isLost ? .unknown : nil)
            }
            return
        }
        if let outcome = sending.outcome {
            devices[index].session.sent(sending.batch, outcome: isLost ? .unknown : outcome)
            devices[index].sending = nil
        } else {
            let outcome = take(sending.batch)
            devices[index].sending?.outcome = outcome
        }
    }

    mutating func take(_ batch: TextBatch) -> TextSession.Outcome {
        do throws(TextRefusal) {
            try refuse(batch)
            publish(try authority.commit(batch))
            return .accepted
        } catch {
            return .refused(error)
        }
    }

    private mutating func refuse(_ batch: TextBatch) throws(TextRefusal) {
        // A backend recognises a repeated batch before it judges it.
        let known = authority.document.version[batch.replica, default: 0]
        guard refusesBatches, batch.number > known else { return }
        switch Int.random(in: 0..<4, using: &random) {
        case 0: throw .invalid(reason: "refused")
        case 1: throw .tooLarge(reason: "too large")
        default: break
        }
    }

    mutating func fetch(_ index: Int, _ isLost: Bool) {
        guard let fetching = devices[index].fetching else {
            if let request = devices[index].session.fetch {
                devices[index].fetching = (request, nil)
            }
            return
        }
        guard let answer = fetching.answer else {
            switch fetching.request {
            case .snapshot: devices[index].fetching?.answer = .snapshot(authority.snapshot)
            case .entries(let serial, let epoch):
                devices[index].fetching?.answer = authority.recovery(after: serial, epoch: epoch)
            }
            return
        }
        devices[index].fetching = nil
        guard !isLost else { return }
        if fault == .neverRecovers, index == 0, case .entries(_, let serial) = answer {
            return show(devices[index].session.fetched(.entries([], serial: serial)), index)
        }
        if fault == .sendsTwice, index == 0, case .snapshot(var snapshot) = answer {
            snapshot.version = [:]
            return show(devices[index].session.fetched(.snapshot(snapshot)), index)
        }
        show(devices[index].session.fetched(answer), index)
    }

    /// Reads an entry, mostly the oldest, sometimes another, sometimes twice, sometimes never.
    private mutating func read(_ index: Int) {
        guard devices[index].isOnline, !devices[index].inbox.isEmpty else { return }
        let isInOrder = Int.random(in: 0..<4, using: &random) > 0
        let count = devices[index].inbox.count
        let place = isInOrder ? 0 : Int.random(in: 0..<count, using: &random)
        var entry = devices[index].inbox[place]
        let fate = Int.random(in: 0..<20, using: &random)
        if fate > 0 { devices[index].inbox.remove(at: place) }
        if fate == 1 { return }
        if fault == .ignoresGaps, index == 0 { entry.serial = devices[index].session.serial + 1 }
        show(devices[index].session.receive(entry), index)
    }

    private mutating func cut(_ index: Int) {
        devices[index].isOnline = false
        devices[index].inbox = []
    }

    mutating func connect(_ index: Int) {
        guard !devices[index].isOnline else { return }
        devices[index].isOnline = true
        // The requests in flight are lost with the connection.
        devices[index].fetching = nil
        if let sending = devices[index].sending {
            devices[index].session.sent(sending.batch, outcome: .unknown)
            devices[index].sending = nil
        }
        devices[index].session.reconnected()
    }

    /// Reloads the page: only unsent edits are kept.
    private mutating func reload(_ index: Int) {
        let unsent = devices[index].session.unsent
        devices[index] = newDevice(unsent)
    }

    private mutating func compact() { publish([authority.compact()]) }

    mutating func publish(_ entries: [TextEntry]) {
        for index in devices.indices where devices[index].isOnline {
            devices[index].inbox += entries
        }
    }

    mutating func show(_ splices: [TextSplice], _ index: Int) {
        for splice in splices { splice.apply(to: &devices[index].view) }
        for edits in devices[index].session.takeRefusedEdits() where fault != .hidesRefusals {
            refusalCount += 1
            for insertion in edits.insertions {
                handedBack.formUnion(insertion.text.unicodeScalars)
            }
        }
    }

    // MARK: Randomness

    mutating func randomRange(in count: Int) -> Range<Int> {
        let start = Int.random(in: 0...count, using: &random)
        let deletes = Int.random(in: 0..<3, using: &random) == 0
        let length = deletes ? Int.random(in: 0...min(6, count - start), using: &random) : 0
        return start..<(start + length)
    }

    /// Returns text of new scalars; half of them need a surrogate pair.
    mutating func randomText(_ lengthMax: Int = 5) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...lengthMax, using: &random) {
            typedCount += 1
            let base: UInt32 = Bool.random(using: &random) ? 0x4E00 : 0x20000
            if let scalar = Unicode.Scalar(base + typedCount) { text.append(scalar) }
        }
        return String(text)
    }

    mutating func note(typed text: String, deleted gone: [Unicode.Scalar], isExact: Bool) {
        typed.formUnion(text.unicodeScalars)
        deleted.formUnion(gone)
        if isExact { deletedExactly.formUnion(gone) }
    }
}

extension TextSplice {
    /// Applies the splice as a text view does.
    func apply(to text: inout String) {
        let start = text.utf16.index(text.startIndex, offsetBy: range.lowerBound)
        let end = text.utf16.index(start, offsetBy: range.count)
        text.unicodeScalars.replaceSubrange(start..<end, with: replacement.unicodeScalars)
    }
}
