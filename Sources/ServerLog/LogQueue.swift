internal import Glibc
internal import Logging
internal import Synchronization

/// The queue of the log records, and the thread that writes them.
///
/// A loop's thread only appends its record to an array: a stopped terminal, a full pipe or a slow disk blocks the
/// writing thread alone. When ``capacity`` records are queued, further ones are dropped and counted; the count is
/// logged when there is room again.
final class LogQueue: Sendable {
    /// The maximum number of queued records.
    let capacity: Int

    private struct State {
        var records: [LogRecord] = []
        var dropped = 0
        /// Whether the thread is writing records that it has removed from the queue.
        var isWriting = false
        var isFinished = false
    }

    private let state = Mutex(State())
    private let formatter: any LogFormatter
    private let write: @Sendable ([UInt8]) -> Void
    /// Raised when a record is added to an empty queue, and at the end.
    private let arrivals = Semaphore()

    /// Creates a queue and its thread.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of queued records.
    ///   - formatter: The format of a line.
    ///   - write: Writes bytes, on the queue's thread; it may block.
    init(
        capacity: Int = 8_192,
        formatter: any LogFormatter,
        write: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.capacity = capacity
        self.formatter = formatter
        self.write = write
        startThread()
    }

    /// Adds a record, or drops it when the queue is full; never blocks.
    func add(_ record: LogRecord) {
        let isFirst = state.withLock { state in
            guard state.records.count < capacity else {
                state.dropped += 1
                return false
            }
            state.records.append(record)
            return state.records.count == 1
        }
        if isFirst { arrivals.raise() }
    }

    /// Blocks until everything that was added before is written; not for a loop's thread.
    ///
    /// - Parameter deadline: The maximum wait, in seconds: the other end of a pipe may not be read.
    func flush(within deadline: Double = .infinity) {
        let end = Double(Int64.now) / 1e9 + deadline
        while state.withLock({ !$0.records.isEmpty || $0.dropped > 0 || $0.isWriting }),
            Double(Int64.now) / 1e9 < end
        {
            usleep(1_000)
        }
    }

    /// Ends the thread when it has written the queued records.
    func finish() {
        state.withLock { $0.isFinished = true }
        arrivals.raise()
    }

    /// Writes records until the queue is finished; the main function of the thread.
    private func drain() {
        while true {
            arrivals.wait()
            let (records, dropped, isFinished) = state.withLock { state in
                state.isWriting = true
                defer { (state.records, state.dropped) = ([], 0) }
                return (state.records, state.dropped, state.isFinished)
            }
            var bytes: [UInt8] = []
            for record in records { formatter.append(record, to: &bytes) }
            if dropped > 0 { formatter.append(Self.loss(of: dropped), to: &bytes) }
            if !bytes.isEmpty { write(bytes) }
            state.withLock { $0.isWriting = false }
            if isFinished { return }
        }
    }

    private func startThread() {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                // SAFETY: the context is the queue that `startThread` retained for its thread.
                Unmanaged<LogQueue>.fromOpaque(context).takeRetainedValue().drain()
                return nil
            },
            context.toOpaque()
        )
        precondition(code == 0, "pthread_create: \(String(cString: strerror(code)))")
        pthread_detach(thread)
    }

    private static func loss(of count: Int) -> LogRecord {
        LogRecord(
            time: .now,
            level: .warning,
            label: "log",
            message:
                "\(count) log records were dropped: they were logged faster than written",
            fields: [("dropped", "\(count)")]
        )
    }
}

extension Int64 {
    /// The time of the wall clock, in nanoseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A counting semaphore (sem_overview(7)): raising it never blocks.
private final class Semaphore: Sendable {
    // SAFETY: the calls on a sem_t are safe from any thread; the memory lives as long as the object.
    private nonisolated(unsafe) let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func raise() { sem_post(semaphore) }

    func wait() { while sem_wait(semaphore) != 0 {} }
}
