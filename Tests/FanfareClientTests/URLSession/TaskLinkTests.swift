import Foundation
import Testing

@testable import FanfareClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A link with a scripted task.
private struct LinkBench {
    let task = ScriptedTask()
    let receiver = ScriptedReceiver()
    let link: TaskLink
    private let ending: Ending

    /// Releases the task's callbacks, as a task that has ended does.
    private final class Ending {
        private let task: ScriptedTask
        init(of task: ScriptedTask) { self.task = task }
        deinit { task.releaseCallbacks() }
    }

    init(
        closeTimeout: Duration = .seconds(5),
        _ change: (inout TransportRequest) -> Void = { _ in }
    ) {
        var request = TransportRequest.toBroker()
        change(&request)
        link = TaskLink(request, receiver, closeTimeout: closeTimeout)
        ending = Ending(of: task)
    }

    static func open(_ change: (inout TransportRequest) -> Void = { _ in }) -> LinkBench {
        let bench = LinkBench(change)
        bench.link.begin(bench.task)
        bench.link.opened(subprotocol: nil)
        return bench
    }

    /// The last event of the receiver.
    var closure: TransportClosure? {
        if case .closed(let closure) = receiver.all.last { closure } else { nil }
    }
}

extension TransportRequest {
    static func toBroker() -> TransportRequest {
        TransportRequest(
            endpoint: .secure(host: "broker.test"),
            target: "/app/k",
            subprotocols: [],
            trust: .system,
            messageLengthMax: 1000,
            timeout: .seconds(5)
        )
    }
}

private let lost = NSError(domain: NSURLErrorDomain, code: NSURLErrorNetworkConnectionLost)

@Suite("A connection over a WebSocket task") struct TaskLinkTests {
    @Test func opensSendsAndReceives() {
        let bench = LinkBench()
        bench.link.begin(bench.task)
        #expect(bench.task.commands == [.resume])
        #expect(!bench.task.isRead)
        bench.link.opened(subprotocol: nil)
        bench.link.send(Array("hi é".utf8))
        bench.task.deliver(.success(.text("ho é")))
        bench.task.deliver(.success(.text("ho")))
        #expect(bench.task.commands == [.resume, .send("hi é")])
        #expect(bench.receiver.all == [.opened, .text("ho é"), .text("ho")])
        #expect(bench.task.isRead)
    }

    @Test func keepsEarlyMessagesInOrder() {
        let bench = LinkBench()
        bench.link.send(Array("1".utf8))
        bench.link.begin(bench.task)
        bench.link.send(Array("2".utf8))
        #expect(bench.task.commands == [.resume])
        bench.link.opened(subprotocol: nil)
        bench.link.send(Array("3".utf8))
        #expect(bench.task.commands == [.resume, .send("1"), .send("2"), .send("3")])
    }

    @Test func acceptsOnlyASubprotocolThatItOffered() {
        for (offered, chosen, isAccepted) in [
            (["a", "b"], "b", true), (["a"], nil, true), ([], "a", false), (["a"], "A", false),
        ] as [([String], String?, Bool)] {
            let bench = LinkBench { $0.subprotocols = offered }
            bench.link.begin(bench.task)
            bench.link.opened(subprotocol: chosen)
            if isAccepted {
                #expect(bench.receiver.all == [.opened])
            } else {
                guard case .upgradeRefused(let reason) = bench.closure else {
                    Issue.record("\(offered) \(chosen ?? "-")")
                    continue
                }
                #expect(reason.contains("'\(chosen ?? "")'"))
                #expect(bench.task.commands == [.resume, .cancel])
            }
        }
    }

    @Test func readsOneMessageAtATimeAndNoneWhilePaused() {
        let bench = LinkBench.open()
        bench.link.pauseReading()
        bench.task.deliver(.success(.text("1")))
        #expect(!bench.task.isRead)
        bench.link.resumeReading()
        bench.link.resumeReading()
        #expect(bench.task.isRead)
        bench.task.deliver(.success(.text("2")))
        #expect(bench.receiver.all == [.opened, .text("1"), .text("2")])
    }

    @Test(
        arguments: [
            (1000, .closeFrame(code: 1000, reason: "r")),
            (4001, .closeFrame(code: 4001, reason: "r")),
            (4200, .closeFrame(code: 4200, reason: "r")),
            (4999, .closeFrame(code: 4999, reason: "r")),
            (1005, .closeFrame(code: nil, reason: "r")),
            (1006, .cut(reason: "the peer closed it")),
            (0, .cut(reason: "the peer closed it")),
            (1015, .cut(reason: "the peer closed it")),
            (5000, .cut(reason: "the peer closed it")),
            (-1, .cut(reason: "the peer closed it")),
        ] as [(Int, TransportClosure)]
    )
    func reportsTheCloseCode(code: Int, closure: TransportClosure) {
        let told = LinkBench.open()
        told.link.closed(code: code, reason: "r")
        told.link.completed(nil, status: 101)
        #expect(told.receiver.all == [.opened, .closed(closure)])
        // The same when the end is reported before the close frame, or without it.
        let found = LinkBench.open()
        found.task.setCloseFrame(code, "r")
        found.link.completed(nil, status: 101)
        #expect(found.receiver.all == [.opened, .closed(closure)])
    }

    @Test func prefersTheCloseFrameToItsError() {
        let error = NSError(domain: NSPOSIXErrorDomain, code: Int(POSIXErrorCode.ENOTCONN.rawValue))
        let before = LinkBench.open()
        before.task.setCloseFrame(4001, "no such app")
        before.task.deliver(.failure(error))
        #expect(before.closure == .closeFrame(code: 4001, reason: "no such app"))
        let after = LinkBench.open()
        after.task.deliver(.failure(error))
        #expect(after.closure == nil)
        #expect(after.task.commands == [.resume, .cancel])
        after.link.closed(code: 4001, reason: "no such app")
        after.link.completed(error, status: 101)
        #expect(
            after.receiver.all == [
                .opened, .closed(.closeFrame(code: 4001, reason: "no such app")),
            ]
        )
    }

    @Test func reportsTheReasonOfAnAbort() {
        let bench = LinkBench.open()
        bench.task.deliver(.failure(lost))
        // Cancelled by the link itself; the first error is reported.
        bench.link.completed(
            NSError(domain: NSURLErrorDomain, code: NSURLErrorCancelled),
            status: 101
        )
        guard case .cut(let reason) = bench.closure else {
            Issue.record("\(bench.receiver.all)")
            return
        }
        #expect(reason.contains("-1005"))
    }

    @Test func refusesBinaryAndTooLongMessages() {
        let binary = LinkBench.open()
        binary.task.deliver(.success(.binary))
        guard case .protocolViolation = binary.closure else {
            Issue.record("\(binary.receiver.all)")
            return
        }
        #expect(binary.task.commands.last == .close(code: 1003, reason: ""))
        let long = LinkBench.open()
        long.task.deliver(.success(.text(String(repeating: "x", count: 1000))))
        #expect(long.closure == nil)
        long.task.deliver(.success(.text(String(repeating: "x", count: 1001))))
        guard case .protocolViolation(let text) = long.closure else {
            Issue.record("\(long.receiver.all.count)")
            return
        }
        #expect(text.contains("1000 bytes") && text.contains("messageLengthMax"))
        #expect(long.task.commands.last == .close(code: 1009, reason: ""))
    }

    @Test func sendsQueuedMessagesBeforeItCloses() {
        let bench = LinkBench.open()
        bench.link.send(Array("1".utf8))
        bench.link.send(Array("2".utf8))
        bench.link.close(code: 1000, reason: "bye")
        bench.task.finishSending()
        #expect(bench.task.commands == [.resume, .send("1"), .send("2")])
        bench.task.finishSending()
        #expect(bench.task.commands.last == .close(code: 1000, reason: "bye"))
        bench.link.completed(nil, status: 101)
        #expect(bench.receiver.all == [.opened])
    }

    @Test func cancelsWhenTheBrokerDoesNotClose() async {
        let bench = LinkBench(closeTimeout: .milliseconds(1))
        bench.link.begin(bench.task)
        bench.link.opened(subprotocol: nil)
        bench.link.send(Array("1".utf8))
        bench.link.close(code: 1000, reason: "")
        while bench.task.commands.last != .cancel, !Task.isCancelled { await Task.yield() }
        #expect(bench.task.commands == [.resume, .send("1"), .cancel])
    }

    @Test func deliversNothingOnceClosed() {
        let early = LinkBench()
        early.link.close(code: 1000, reason: "")
        early.link.begin(early.task)
        #expect(early.task.commands == [.cancel])
        let connecting = LinkBench()
        connecting.link.begin(connecting.task)
        connecting.link.close(code: 1000, reason: "")
        connecting.link.opened(subprotocol: nil)
        connecting.link.completed(lost, status: nil)
        #expect(connecting.task.commands == [.resume, .cancel])
        #expect(connecting.receiver.all == [])
        let open = LinkBench.open()
        open.link.close(code: 1000, reason: "")
        open.task.deliver(.success(.text("late")))
        open.link.closed(code: 4001, reason: "")
        #expect(open.receiver.all == [.opened])
    }

    @Test func truncatesAReasonToTheFramesLimit() {
        let bench = LinkBench.open()
        bench.link.close(code: 1000, reason: String(repeating: "é", count: 100))
        #expect(
            bench.task.commands.last
                == .close(code: 1000, reason: String(repeating: "é", count: 61))
        )
    }

    @Test func closesWhenTheBrokerDoesNotRead() async {
        let bench = LinkBench.open()
        let megabyte = [UInt8](repeating: 0x78, count: 1 << 20)
        for _ in 0..<16 { bench.link.send(megabyte) }
        bench.task.finishSending()
        bench.link.send(megabyte)
        #expect(bench.closure == nil)
        bench.link.send([0x78])
        let closure = await bench.receiver.closure()
        guard case .cut(let reason) = closure else {
            Issue.record("\(String(describing: closure))")
            return
        }
        #expect(reason.contains("\((16 << 20) + 1)") && reason.contains("\(16 << 20)"))
    }
}
