// On Linux in debug builds only, for tests: FoundationNetworking needs libcurl, on which release builds should not
// depend.
#if canImport(Darwin) || DEBUG
    import Foundation
    import HTTPClient
    import Primitives

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif
    #if canImport(Security)
        import Security
    #endif

    /// Connects clients over `URLSession`: the default on platforms without epoll.
    ///
    /// Each connection has its own session, since trust and proxy are settings of a session.
    struct URLSessionTransport: TransportOpener {
        /// Starts to open a connection and returns at once.
        func open(
            _ request: TransportRequest,
            receiver: any TransportReceiver
        ) -> any TransportConnection {
            let link = TaskLink(request, receiver)
            // Reads files, which blocks.
            DispatchQueue.global().async {
                do throws(ConnectionPlan.Fault) {
                    let plan = try ConnectionPlan(for: request)
                    guard let task = SessionTask(request, plan, link) else {
                        let url = SessionTask.url(of: request)
                        return link.end(.unreachable(reason: "\(url) is not a URL"))
                    }
                    link.begin(task)
                } catch {
                    link.end(error.closure)
                }
            }
            return link
        }
    }

    /// A `URLSessionWebSocketTask` with its own session.
    final class SessionTask: WebSocketTask {
        private struct State {
            var task: URLSessionWebSocketTask?
            var isCancelled = false
        }

        let session: URLSession
        private let message: URLRequest
        private let messageLengthMax: Int
        private let state = Lock(State())

        /// Created by `resume()`: on Linux a task that is never resumed leaks its session, even when cancelled.
        private var task: URLSessionWebSocketTask? { state.withLock { $0.task } }

        static func url(of request: TransportRequest) -> String {
            let endpoint = request.endpoint
            return "\(endpoint.isSecure ? "wss" : "ws")://\(endpoint.authority)\(request.target)"
        }

        /// Creates a task that reports its events to the link; `nil` if host and target do not form a URL.
        init?(_ request: TransportRequest, _ plan: ConnectionPlan, _ link: TaskLink) {
            guard let url = URL(string: Self.url(of: request)) else { return nil }
            let configuration = URLSessionConfiguration.ephemeral
            configuration.httpShouldSetCookies = false
            // The client's own timers limit attempts and idle time; this one would end an idle connection.
            configuration.timeoutIntervalForRequest = 86_400
            SessionProxy.apply(plan.route, to: configuration)
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            session = URLSession(
                configuration: configuration,
                delegate: SessionDelegate(link, plan.verification),
                delegateQueue: queue
            )
            var message = URLRequest(url: url)
            if !request.subprotocols.isEmpty {
                let list = request.subprotocols.joined(separator: ", ")
                message.setValue(list, forHTTPHeaderField: "Sec-WebSocket-Protocol")
            }
            self.message = message
            messageLengthMax = request.messageLengthMax
        }

        var receivedCloseCode: Int { task?.closeCode.rawValue ?? 0 }

        var receivedCloseReason: String {
            task?.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        func resume() {
            state.withLock { state in
                // An invalidated session cannot create a task.
                guard !state.isCancelled else { return }
                let task = session.webSocketTask(with: message)
                task.maximumMessageSize = messageLengthMax
                task.resume()
                // The session retains its delegate, and thereby the link, until its only task has ended.
                session.finishTasksAndInvalidate()
                state.task = task
            }
        }

        func send(_ text: String, completion: @escaping @Sendable ((any Error)?) -> Void) {
            task?.send(.string(text), completionHandler: completion)
        }

        func receive(
            completion: @escaping @Sendable (Result<WebSocketTaskMessage, any Error>) -> Void
        ) {
            task?.receive { result in
                completion(
                    result.map { message in
                        if case .string(let text) = message { .text(text) } else { .binary }
                    }
                )
            }
        }

        func close(code: UInt16, reason: String) {
            let code = URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure
            task?.cancel(with: code, reason: reason.isEmpty ? nil : Data(reason.utf8))
        }

        func cancel() {
            let task = state.withLock { state in
                state.isCancelled = true
                return state.task
            }
            task?.cancel()
            // Without a task, nothing else would invalidate the session.
            session.invalidateAndCancel()
        }
    }

    /// Forwards the events of a session.
    private final class SessionDelegate: NSObject, URLSessionWebSocketDelegate, Sendable {
        private let link: TaskLink
        private let verification: Verification?

        init(_ link: TaskLink, _ verification: Verification?) {
            self.link = link
            self.verification = verification
        }

        func urlSession(
            _ session: URLSession,
            webSocketTask: URLSessionWebSocketTask,
            didOpenWithProtocol protocol: String?
        ) {
            link.opened(subprotocol: `protocol`)
        }

        func urlSession(
            _ session: URLSession,
            webSocketTask: URLSessionWebSocketTask,
            didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
            reason: Data?
        ) {
            let reason = reason.map { String(decoding: $0, as: UTF8.self) } ?? ""
            link.closed(code: closeCode.rawValue, reason: reason)
        }

        func urlSession(
            _ session: URLSession,
            task: URLSessionTask,
            didCompleteWithError error: (any Error)?
        ) {
            link.completed(error, status: (task.response as? HTTPURLResponse)?.statusCode)
        }

        #if canImport(Security)
            func urlSession(
                _ session: URLSession,
                didReceive challenge: URLAuthenticationChallenge,
                completionHandler:
                    @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) ->
                    Void
            ) {
                guard let verification, verification.isOwn,
                    challenge.protectionSpace.authenticationMethod
                        == NSURLAuthenticationMethodServerTrust,
                    let trust = challenge.protectionSpace.serverTrust
                else { return completionHandler(.performDefaultHandling, nil) }
                if let reason = verification.distrust(of: trust) {
                    link.end(.untrusted(reason: reason))
                    completionHandler(.cancelAuthenticationChallenge, nil)
                } else {
                    completionHandler(.useCredential, URLCredential(trust: trust))
                }
            }
        #endif
    }
#endif
