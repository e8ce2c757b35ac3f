internal import NIOCore
internal import Synchronization

/// Bounds what an answer may cost: its bytes, and how often the connection is read for it.
///
/// It is the first handler of a connection's pipeline, before TLS, and counts from one request to the next.
final class AnswerHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The number of reads of all connections of a transport.
    final class ReadCounter: Sendable {
        private let count = Atomic<Int>(0)

        var value: Int { count.load(ordering: .relaxed) }

        func increment() { count.wrappingAdd(1, ordering: .relaxed) }
    }

    private let lengthMax: Int
    private let counter: ReadCounter
    private var pace = AnswerPace()
    /// The bytes of the answer so far, as they came from the socket.
    private var length = 0
    /// The pause before the next read, in milliseconds.
    private var pause: Int64 = 0
    private var nextRead: Scheduled<Void>?

    /// Creates the handler of one connection.
    ///
    /// - Parameters:
    ///   - lengthMax: The length of an answer in bytes, with its head and the framing of TLS; beyond it the connection is
    ///     closed.
    ///   - counter: Counts the reads.
    init(lengthMax: Int, counter: ReadCounter) {
        self.lengthMax = lengthMax
        self.counter = counter
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        (pace, length, pause) = (AnswerPace(), 0, 0)
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        length += unwrapInboundIn(data).readableBytes
        // The status may be in these bytes.
        context.fireChannelRead(data)
        guard length > lengthMax else { return }
        context.fireErrorCaught(AnswerTooLong(lengthMax: lengthMax))
        context.close(promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        counter.increment()
        pause = pace.pauseAfterRead()
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        guard pause > 0 else { return context.read() }
        guard nextRead == nil else { return }
        // Without a read the loop does not wait for the socket to be readable.
        nextRead = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(pause)) {
            self.nextRead = nil
            context.read()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        cancelRead()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { cancelRead() }

    private func cancelRead() {
        nextRead?.cancel()
        nextRead = nil
    }
}

/// An answer exceeds the limit of its length.
struct AnswerTooLong: Error, CustomStringConvertible {
    /// The limit, in bytes.
    let lengthMax: Int

    var description: String { "the answer has more than \(lengthMax) bytes" }
}
