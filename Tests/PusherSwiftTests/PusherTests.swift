import FanfareAPI
import Foundation
import PusherSwift
import Synchronization
import TestBroker
import Testing

extension TestBroker {
    /// The options of an app for this broker.
    var options: PusherClientOptions {
        PusherClientOptions(host: .host("127.0.0.1"), port: port, useTLS: false)
    }
}

@Suite("PusherSwift: apps", .timeLimit(.minutes(1))) @MainActor struct PusherTests {
    private let start: [NSDictionary] = [
        ["id": 1, "name": "A"], ["id": 2, "name": "B"], ["id": 3, "name": "C"],
    ]

    @Test func keepOneListOnSeveralDevices() async throws {
        let broker = try await TestBroker.start()
        let backend = UserBackend(api: broker.api)
        let devices = (0..<3).map { _ in
            UserTable(key: "app-key", options: broker.options, users: start)
        }
        try await broker.waitForSubscribers(3)

        try await backend.add("D", id: 4, from: "another device")
        for device in devices { await device.take(1) }
        // The device that adds the row already has it, and ignores the event.
        devices[0].append("E", id: 5)
        try await backend.add("E", id: 5, from: devices[0].deviceId)
        try await backend.move(0, to: 2, from: "another device")
        try await backend.remove(2, at: 0, from: "another device")
        for device in devices { await device.take(3) }

        for device in devices { #expect(device.names == ["C", "A", "D", "E"]) }
        #expect(devices[0].calls == ["reload", "move 0 2", "delete 0"])
        #expect(devices[1].calls == ["reload", "reload", "move 0 2", "delete 0"])
        #expect(devices[2].calls == devices[1].calls)
        for device in devices { device.close() }
        await broker.stop()
    }

    @Test func receiveTheFirstEventWhenBoundAfterSubscribing() async throws {
        let broker = try await TestBroker.start()
        let pusher = Pusher(key: "app-key", options: broker.options)
        pusher.connect()
        let first = AsyncStream.makeStream(of: String.self)
        let channel = pusher.subscribe("a")
        blockMainQueue()
        channel.bind(eventName: "pusher:subscription_succeeded") { (event: PusherEvent) in
            first.continuation.yield(event.data ?? "")
        }
        for await data in first.stream {
            #expect(data == "{}")
            break
        }
        #expect(channel.subscribed)
        #expect(pusher.subscribe("a") === channel)
        #expect(pusher.connection.channels.find(name: "a") === channel)
        pusher.disconnect()
        await broker.stop()
    }

    /// Long enough for the confirmation to arrive, while the main queue is blocked.
    private func blockMainQueue() { Thread.sleep(forTimeInterval: 0.05) }

    @Test func receiveThePayloadOfTheirAPI() async throws {
        let broker = try await TestBroker.start()
        let pusher = Pusher(key: "app-key", options: broker.options)
        let channel = pusher.subscribe("userslist")
        var seen: [String] = []
        let done = AsyncStream.makeStream(of: Void.self)
        pusher.bind { (event: PusherEvent) in
            if !event.eventName.hasPrefix("pusher:") { seen.append("global \(event.eventName)") }
        }
        pusher.bind({ (data: Any?) -> Void in
            let members = data as? [String: Any]
            guard members?["event"] as? String == "e" else { return }
            seen.append("legacy global \(members?["data"] as? String ?? "?")")
        })
        channel.bind(
            eventName: "e",
            callback: { (data: Any?) -> Void in
                seen.append("legacy \((data as? [String: AnyObject])?["n"] as? Int ?? -1)")
            }
        )
        channel.bind(eventName: "e") { event in
            seen.append("event \(event.channelName ?? "") \(event.data ?? "")")
            seen.append("property \(event.property(withKey: "event") as? String ?? "")")
        }
        channel.bind(
            eventName: "text",
            callback: { (data: Any?) -> Void in
                seen.append("text \(data as? String ?? "?")")
                done.continuation.finish()
            }
        )
        pusher.connect()
        try await broker.waitForSubscribers(1)
        try await broker.api.trigger("e", on: "userslist", text: #"{"n":7}"#)
        try await broker.api.trigger("text", on: "userslist", text: "hello")
        for await _ in done.stream {}
        #expect(
            seen == [
                "global e", #"legacy global {"n":7}"#, "legacy 7",
                #"event userslist {"n":7}"#, "property e", "global text", "text hello",
            ]
        )
        pusher.disconnect()
        await broker.stop()
    }

    @Test func receiveNothingAfterUnbindAndUnsubscribe() async throws {
        let broker = try await TestBroker.start()
        let pusher = Pusher(key: "app-key", options: broker.options)
        let channel = pusher.subscribe("userslist")
        var seen: [String] = []
        let id = channel.bind(eventName: "e") { _ in seen.append("unbound") }
        let global = pusher.bind { _ in seen.append("global") }
        channel.bind(eventName: "e") { _ in
            // An earlier callback of the same event unbinds a later one.
            channel.unbindAll(forEventName: "later")
        }
        channel.unbind(eventName: "e", callbackId: id)
        pusher.unbind(callbackId: global)
        #expect(channel.eventHandlers["e"]?.count == 1)
        channel.unbindAll()
        pusher.connect()
        try await broker.waitForSubscribers(1)
        try await broker.api.trigger("e", on: "userslist", text: "1")
        pusher.unsubscribe("userslist")
        try await broker.waitForSubscribers(0)
        #expect(pusher.connection.channels.channels.isEmpty)
        #expect(seen == [])
        pusher.disconnect()
        await broker.stop()
    }

    @Test func callTheirDelegate() async throws {
        final class Listener: PusherDelegate {
            var changes: [String] = []
            let channels = AsyncStream.makeStream(of: String.self)
            func changedConnectionState(from old: ConnectionState, to new: ConnectionState) {
                changes.append("\(old.stringValue()) \(new.stringValue())")
            }
            func subscribedToChannel(name: String) { channels.continuation.yield(name) }
        }
        let broker = try await TestBroker.start()
        let pusher = Pusher(key: "app-key", options: broker.options)
        let listener = Listener()
        pusher.delegate = listener
        pusher.subscribe("a")
        pusher.connect()
        for await name in listener.channels.stream {
            #expect(name == "a")
            break
        }
        #expect(listener.changes == ["disconnected connecting", "connecting connected"])
        #expect(pusher.connection.connectionState == .connected)
        #expect(pusher.connection.socketId?.contains(".") == true)
        pusher.disconnect()
        #expect(pusher.connection.connectionState == .disconnected)
        #expect(pusher.connection.socketId == nil)
        await broker.stop()
    }

    @Test func disconnectWhenTheyLetGo() async throws {
        let broker = try await TestBroker.start()
        do {
            let pusher = Pusher(key: "app-key", options: broker.options)
            pusher.subscribe("userslist")
            pusher.connect()
            try await broker.waitForSubscribers(1)
        }
        try await broker.waitForSubscribers(0)
        await broker.stop()
    }
}

/// The same in a class without an actor, as in older code.
private final class Counter {
    var count = 0
    let pusher: Pusher

    init(_ options: PusherClientOptions, done: DispatchSemaphore) {
        pusher = Pusher(key: "app-key", options: options)
        let channel = pusher.subscribe("userslist")
        _ = channel.bind(
            eventName: "e",
            callback: { (data: Any?) -> Void in
                self.count += 1
                if self.count == 100 { done.signal() }
            }
        )
        pusher.connect()
    }

    /// Unbinds, as an app's screen does when it closes: callbacks that capture it would leak it.
    func close() {
        pusher.disconnect()
        pusher.unsubscribeAll()
    }
}

@Suite("PusherSwift: callbacks on another queue", .timeLimit(.minutes(1))) struct CallbackQueueTests
{
    @Test func arriveThereInOrder() async throws {
        let broker = try await TestBroker.start()
        let options = broker.options
        let queue = DispatchQueue(label: "test")
        options.callbackQueue = queue
        let seen = Mutex<[Int]>([])
        let done = AsyncStream.makeStream(of: Void.self)
        let pusher = Pusher(key: "app-key", options: options)
        pusher.subscribe("userslist").bind(eventName: "e") { (event: PusherEvent) in
            dispatchPrecondition(condition: .onQueue(queue))
            let number = Int(event.data ?? "") ?? -1
            seen.withLock { $0.append(number) }
            if number == 99 { done.continuation.finish() }
        }
        pusher.connect()
        try await broker.waitForSubscribers(1)
        for number in 0..<100 {
            try await broker.api.trigger("e", on: "userslist", text: String(number))
        }
        for await _ in done.stream {}
        #expect(seen.withLock { $0 } == Array(0..<100))
        pusher.disconnect()
        await broker.stop()
    }

    @Test func workForClassesOfNoActor() async throws {
        let broker = try await TestBroker.start()
        let done = DispatchSemaphore(value: 0)
        let counter = Counter(broker.options, done: done)
        try await broker.waitForSubscribers(1)
        for _ in 0..<100 { try await broker.api.trigger("e", on: "userslist", text: "{}") }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                done.wait()
                continuation.resume()
            }
        }
        counter.close()
        await broker.stop()
    }
}
