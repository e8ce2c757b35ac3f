import Broker
import HTTP1
import HTTPServer
import Net
import PusherProtocol
import Shard
import WebSocket

/// A session over HTTP: carries a connection's messages as lines of responses, one after the other.
///
/// Its stream outlives the sockets of the responses. In between, and for a client that polls, what the broker sends waits
/// in the stream's queue, bounded like that of a slow reader.
final class HTTPSession: CarryingTransport {
    let name: HTTPSessions.Name
    let stream: Stream
    let encoder: (any EnvelopeEncoder)?
    private let lines: LineEncoder
    private unowned let sessions: HTTPSessions
    private(set) var connection: Connection?
    /// The request that waits for lines, of a client that polls.
    private var poll: HTTPExchange?
    private var fields: [Field] = []
    private var length = ResponseLength()
    /// The full response that the client has not left yet.
    private var former: Stream?
    /// The numbers of the pings that the client has not answered; `nil` for a heartbeat without one.
    private var pings: [UInt16?] = []
    /// How many of them a client that polls has been sent.
    private var sentPingCount = 0
    private var order = SendOrder()
    private var timer: TimerID?
    /// The timer of messages that wait for their turn.
    private var orderTimer: TimerID?

    /// The time within which a client requests the next response, after it has left one.
    private static var absenceMax: Duration { .seconds(5) }
    /// The same between two polls.
    private static var pollAbsenceMax: Duration { .seconds(30) }
    /// The time after which an idle response gets a heartbeat, so that no proxy ends it.
    private static var heartbeatInterval: Duration { .seconds(25) }

    init(
        _ name: HTTPSessions.Name,
        isSecure: Bool,
        of sessions: HTTPSessions,
        _ context: ShardContext
    ) throws(SystemError) {
        self.name = name
        self.sessions = sessions
        lines = sessions.encoder
        encoder = sessions.encoder
        stream = try context.reactor.makeRelayedStream(
            limits: context.settings.streamLimits,
            isSecure: isSecure,
            delegate: UnassignedDelegate()
        )
        stream.delegate = self
    }

    func carry(_ connection: Connection) { self.connection = connection }

    /// Writes the first lines.
    func open(_ greetings: [ServerMessage]) {
        stream.write(SessionLines.open)
        for greeting in greetings { stream.write(lines.encode(greeting)) }
    }

    // MARK: - Responses

    /// Handles a request for messages, which has a number like all requests of the client.
    func receive(
        _ operation: HTTPSessionURL.Operation,
        _ exchange: HTTPExchange,
        _ fields: [Field],
        number: Int?
    ) {
        connection?.received()
        self.fields = fields
        if number != nil { add([], number: number) }
        endResponse()
        // The client requests more when it has handled the answer to the poll before.
        for number in pings.prefix(sentPingCount) { confirm(number) }
        pings.removeFirst(sentPingCount)
        sentPingCount = 0
        guard operation == .streaming else { return receivePoll(exchange) }
        // The client may be gone before its response begins.
        watch(for: Self.absenceMax)
        exchange.upgrade { [self] _, output in
            output += Self.head(fields)
            output += SessionLines.prelude
            return ResponseOpening(self)
        }
    }

    /// Continues in a response whose head is sent.
    func stream(on response: Stream) {
        guard stream.isParked, !stream.isClosed else { return response.abort() }
        do throws(SystemError) {
            try stream.takeSocket(of: response)
        } catch {
            return response.abort()
        }
        length = ResponseLength()
        former?.abort()
        former = nil
        watch(for: Self.heartbeatInterval)
    }

    private static func head(_ fields: [Field]) -> [UInt8] {
        // Its length is not known, so it ends with the connection (RFC 9112 §6.3), and has no chunks: the lines of a
        // channel's event are the same bytes for all responses.
        Array("HTTP/1.1 200 OK\r\n".utf8) + Response.encode(fields)
            + Array("Connection: close\r\n\r\n".utf8)
    }

    private func receivePoll(_ exchange: HTTPExchange) {
        poll = exchange
        exchange.ended = { [weak self] in self?.pollEnded() }
        watch(for: Self.heartbeatInterval)
        if stream.queuedByteCount > 0 { answerPoll() }
    }

    private func answerPoll() {
        guard let exchange = poll.take() else { return }
        exchange.ended = nil
        sentPingCount = pings.count
        watch(for: Self.pollAbsenceMax)
        exchange.respond(Response(status: 200, fields: fields, body: stream.takeOutput()))
    }

    /// The client's connection has ended before its poll was answered.
    private func pollEnded() {
        poll = nil
        watch(for: Self.pollAbsenceMax)
    }

    /// Ends the response that the client has, because it requests another.
    private func endResponse() {
        if let poll = poll.take() {
            poll.ended = nil
            poll.respond(Response(status: 200, fields: fields, body: Self.superseded))
        }
        guard !stream.isParked, !stream.isClosed else { return }
        guard let response = park() else { return }
        response.write(Self.superseded)
        response.close(within: Self.absenceMax)
    }

    private static let superseded: [UInt8] = {
        var line: [UInt8] = []
        SessionLines.appendClose(code: 2010, reason: "Another connection still open", to: &line)
        return line
    }()

    /// Gives the socket of the present response away.
    private func park() -> Stream? {
        do throws(SystemError) {
            return try stream.giveSocket(to: LeftResponse())
        } catch {
            stream.abort()
            return nil
        }
    }

    // MARK: - Requests with messages

    /// The most effort for one client's messages in one turn, in bytes; as for a WebSocket.
    private static var effortMax: Int { 128 << 10 }

    /// Handles the messages of a send request; the number of the request puts those in order that overtook each other.
    func receive(_ messages: [[UInt8]], number: Int?) {
        guard let connection, !connection.isClosing else { return }
        connection.received()
        if messages.isEmpty { answerHeartbeat() }
        let settings = sessions.settings
        let longest = messages.reduce(0) { max($0, $1.count) }
        guard longest <= settings.messageLengthMax else {
            let reason = "A message of \(longest) bytes is longer than \(settings.messageLengthMax)"
            return close(.messageTooBig, reason: reason, meeting: .messageLength)
        }
        guard order.byteCount <= settings.waitingBytesMax else {
            connection.context.limitMet(.requestBodyLength, of: connection.app.id)
            let message = "More than \(settings.waitingBytesMax) bytes of messages wait"
            return connection.close(.overCapacity, message: message)
        }
        add(messages, number: number)
    }

    private func add(_ messages: [[UInt8]], number: Int?) {
        let former = order.byteCount
        order.add(messages, number: number)
        connection?.context.reactor.inbound.charge(order.byteCount - former)
        deliver()
    }

    private func deliver() {
        guard let connection else { return }
        let inbound = connection.context.reactor.inbound
        var effort = 0
        while connection.mayReceive, effort < Self.effortMax, let message = order.next() {
            inbound.refund(message.count)
            effort += message.count + connection.receive(text: message.span)
        }
        guard !connection.isClosing, orderTimer == nil, !order.isEmpty || order.isWaiting else {
            return
        }
        // Other clients are served in between; a client that sends refused signatures waits.
        let isDue = connection.mayReceive && !order.isEmpty
        orderTimer = connection.context.reactor.schedule(
            after: isDue ? .milliseconds(1) : SendOrder.patience,
            self,
            tag: Self.orderTag
        )
    }

    /// A client handles a line after those in front of it, so its n-th answer confirms the n-th ping.
    private func answerHeartbeat() {
        guard !pings.isEmpty, !stream.isParked else { return }
        confirm(pings.removeFirst())
    }

    private func confirm(_ number: UInt16?) {
        if let number { connection?.receivePong(number: number) }
    }

    // MARK: - Sending

    func encode(_ message: ServerMessage) -> [UInt8] { lines.encode(message) }

    func write(_ bytes: [UInt8]) {
        if let connection, connection.context.isObserved(.frames), !bytes.isEmpty {
            connection.trace(sent: String(decoding: bytes, as: UTF8.self))
        }
        stream.write(bytes)
    }

    func write(_ envelope: Envelope) { write(lines.encode(envelope)) }

    func ping(number: UInt16?) {
        pings.append(number)
        write(SessionLines.heartbeat)
    }

    func queuedSerials() -> (serials: [String: UInt64], areComplete: Bool) { ([:], false) }

    // MARK: - Closing

    func stopReceiving() {
        connection?.context.reactor.inbound.refund(order.byteCount)
        order = SendOrder()
    }

    func close(_ code: PusherCode, reason: String) { finish(code.rawValue, reason) }

    /// Closes with a code of the WebSocket protocol, as a WebSocket would.
    private func close(_ code: CloseCode, reason: String, meeting limit: Limit) {
        guard let connection else { return }
        let code = Int(code.rawValue)
        guard connection.beginClosing(ConnectionRecord.Ending(code: code)) else { return }
        connection.context.limitMet(limit, of: connection.app.id)
        finish(code, reason)
    }

    private func finish(_ code: Int, _ reason: String) {
        var line: [UInt8] = []
        SessionLines.appendClose(code: code, reason: reason, to: &line)
        write(line)
        stream.close(within: connection?.context.settings.closeTimeout ?? .zero)
    }

    /// Ends the session as a connection that was lost.
    private func lose() {
        _ = connection?.beginClosing()
        stream.abort()
    }
}

extension HTTPSession: TimerTarget {
    private static var orderTag: Int { 1 }

    private func watch(for limit: Duration) {
        guard let reactor = connection?.context.reactor else { return }
        if let timer { reactor.cancel(timer) }
        timer = reactor.schedule(after: limit, self)
    }

    func timerFired(tag: Int) {
        guard tag != Self.orderTag else {
            orderTimer = nil
            if order.isEmpty { order.skipMissing() }
            return deliver()
        }
        timer = nil
        guard poll != nil || !stream.isParked else { return lose() }
        // A poll is answered by the line itself.
        watch(for: Self.heartbeatInterval)
        ping(number: nil)
    }
}

extension HTTPSession {
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }

    func stream(_ stream: Stream, portionOf bytes: UnsafeRawBufferPointer) -> Int {
        length.portion(of: bytes)
    }

    func stream(_ stream: Stream, sent bytes: UnsafeRawBufferPointer) { length.count(bytes) }

    func stream(_ stream: Stream, relayed event: RelayEvent) {
        switch event {
        case .waiting: answerPoll()
        case .filled:
            guard !stream.isParked, let left = park() else { return }
            former = left
            watch(for: Self.absenceMax)
        }
    }

    /// The client has left a response that was not full: the connection is lost.
    func streamReachedEnd(_ stream: Stream) { lose() }

    func streamClosed(_ stream: Stream, error: StreamError?) {
        sessions.remove(self)
        for timer in [timer.take(), orderTimer.take()] {
            if let timer { connection?.context.reactor.cancel(timer) }
        }
        former?.abort()
        former = nil
        poll.take()?.respond(Response(status: 404, fields: fields))
        connection?.closed()
        connection = nil
    }
}

/// The delegate of a streaming response until its head is sent.
private final class ResponseOpening: StreamDelegate {
    private let session: HTTPSession

    init(_ session: HTTPSession) { self.session = session }

    func streamOpened(_ stream: Stream) { session.stream(on: stream) }
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
}

/// The delegate of a response that gets no more lines, until the client has left it.
private final class LeftResponse: StreamDelegate {
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { bytes.count }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
}

/// The delegate of a session's stream before the session is made.
private final class UnassignedDelegate: StreamDelegate {
    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int { 0 }
    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
