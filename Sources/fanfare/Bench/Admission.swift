import Net

/// How many of the connections that a run needs are on their way, and how many are in.
struct Admission {
    /// How many are needed.
    let count: Int
    /// How many were begun; also the index of the next one.
    private(set) var begunCount = 0
    /// How many are in.
    private(set) var admittedCount = 0
    /// To how many of them the server granted permessage-deflate.
    private(set) var deflateCount = 0

    /// How many connections may be between their first packet and their acknowledgement.
    static let underWayMax = 256

    /// None yet.
    ///
    /// - Parameter count: How many are needed.
    init(count: Int) { self.count = count }

    /// Whether all are in.
    var isComplete: Bool { admittedCount == count }

    /// The index of a connection to begin now; nil if none may be.
    mutating func next() -> Int? {
        guard begunCount < count, begunCount - admittedCount < Self.underWayMax else { return nil }
        defer { begunCount += 1 }
        return begunCount
    }

    /// Counts a device as being in.
    mutating func admit(_ device: Device) {
        admittedCount += 1
        if device.isCompressed { deflateCount += 1 }
    }
}

extension Generator {
    /// Lets more devices in, and shows how many are.
    ///
    /// - Parameters:
    ///   - crowd: Whom they belong to.
    ///   - admission: Who is in; the crowd admits each device.
    ///   - now: The time.
    /// - Returns: Whether all are in.
    /// - Throws: Why there can be no connection, or that none has been let in for too long.
    func assemble(
        _ crowd: any Crowd,
        _ admission: inout Admission,
        at now: MonotonicTime
    ) throws(BenchError) -> Bool {
        while let index = admission.next() {
            try dialer.connect(index, of: crowd, on: reactor)
        }
        let (count, all) = (admission.admittedCount, admission.count)
        progress.show("Connecting", count, of: all, at: now)
        if admission.isComplete {
            progress.end()
        } else if isStalled(count, at: now) {
            throw .connectingStalled(admitted: count, of: all, patience: subject.patience)
        }
        return admission.isComplete
    }
}
