public import HTTP1
public import Net

/// A request that another loop has to answer, on its way there with its connection.
public final class HTTPHandover: Sendable {
    fileprivate let head: RequestHead
    fileprivate let body: [UInt8]
    fileprivate let peer: SocketAddress?
    fileprivate let socket: ReleasedSocket

    fileprivate init(
        _ head: RequestHead,
        _ body: [UInt8],
        from peer: SocketAddress?,
        _ socket: ReleasedSocket
    ) {
        self.head = head
        self.body = body
        self.peer = peer
        self.socket = socket
    }
}

extension HTTPExchange {
    /// Passes the request, and the connection with all later ones, to another loop, where
    /// ``HTTPSite/receive(_:limits:)`` continues it.
    ///
    /// It can be called only inside `respond(to:body:on:)`. A client that has sent more requests already loses its
    /// connection, as does one whose responses it has not read.
    ///
    /// - Parameters:
    ///   - head: The request.
    ///   - body: Its content.
    ///   - post: Called with what the other loop needs, once earlier requests are answered.
    public func handOver(
        _ head: RequestHead,
        _ body: Span<UInt8>,
        _ post: @escaping (HTTPHandover) -> Void
    ) {
        let body = body.withUnsafeBufferPointer { Array($0) }
        let peer = peer
        upgrade { _, _ in
            HandingOver { socket in post(HTTPHandover(head, body, from: peer, socket)) }
        }
    }
}

extension HTTPSite {
    /// Continues a request that another loop has handed over.
    ///
    /// - Parameters:
    ///   - handover: The request and its connection; a connection that cannot be continued is closed.
    ///   - limits: The limits of the connection's stream.
    public func receive(_ handover: HTTPHandover, limits: StreamLimits) {
        let connection = HTTPConnection(site: self, stream: nil, peer: handover.peer)
        do throws(SystemError) {
            try reactor.adopt(handover.socket, limits: limits, delegate: connection)
        } catch {
            return
        }
        let body = handover.body
        connection.receive(handover.head, body.span)
    }
}

/// The delegate of a stream whose socket goes to another loop.
private final class HandingOver: StreamDelegate {
    private let post: (ReleasedSocket) -> Void

    init(_ post: @escaping (ReleasedSocket) -> Void) { self.post = post }

    func streamOpened(_ stream: Stream) {
        guard stream.queuedByteCount == 0 else { return stream.abort() }
        do throws(SystemError) {
            post(try stream.release())
        } catch {
            stream.abort()
        }
    }

    func stream(_ stream: Stream, received bytes: inout MutableSpan<UInt8>) -> Int {
        stream.abort()
        return bytes.count
    }

    func streamClosed(_ stream: Stream, error: StreamError?) {}
}
