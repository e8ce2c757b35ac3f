import Broker
import BrokerConfiguration
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("Clients that are too slow for a whole replay") struct SlowReplayTests {
    /// What a device has missed, and how much of it its client processes over one connection.
    struct Absence: CustomTestStringConvertible, Sendable {
        var channelCount = 1
        let messageCount: Int
        var dataLength = 1
        let processedMax: Int

        var testDescription: String {
            "\(channelCount) × \(messageCount) of \(dataLength) bytes, \(processedMax) at a time"
        }
    }

    /// A device, over all of its connections: the last number that was processed on each channel, and the last that was
    /// processed ahead of an answered ping.
    private struct Device {
        let token = StockWire.token()
        let ends: [Int]
        var lasts: [Int]
        var confirmed: [Int]
        var connectionCount = 0

        init(_ absence: Absence) {
            lasts = Array(repeating: 0, count: absence.channelCount)
            confirmed = lasts
            ends = lasts.map { _ in absence.messageCount }
        }
    }

    /// Publishes the numbers from 1 to the absence's count on each channel.
    private func publish(_ absence: Absence, to broker: TestBroker) async throws {
        let padding = String(repeating: "x", count: absence.dataLength)
        let items = (1...absence.messageCount).flatMap { number in
            (0..<absence.channelCount).map { channel in
                #"{"name":"e","channel":"c\#(channel)","data":"\#(number) \#(padding)"}"#
            }
        }
        for start in stride(from: 0, to: items.count, by: 10) {
            let batch = items[start..<min(start + 10, items.count)].joined(separator: ",")
            let body = #"{"batch":[\#(batch)]}"#
            let request = SignedRequest(path: "/apps/1/batch_events", body: body)
            let wire = try Wire(port: broker.port)
            try wire.send(request.head(["Content-Length: \(body.utf8.count)"]) + body)
            #expect(try await wire.answer().status == 200)
        }
    }

    /// A device that has lost its connection ahead of all events.
    private func absent(_ absence: Absence, from broker: TestBroker) async throws -> Device {
        let device = Device(absence)
        let client = try await StockWire(broker, device.token)
        for channel in device.ends.indices { _ = try await client.subscribe(to: "c\(channel)") }
        try await client.cut(broker)
        try await publish(absence, to: broker)
        return device
    }

    /// Subscribes to all channels over a new connection, processes some events, and gives the connection up.
    private func connect(
        _ device: inout Device,
        processing processedMax: Int,
        _ broker: TestBroker
    ) async throws {
        let client = try await StockWire(broker, device.token)
        for channel in device.lasts.indices {
            try client.client.send(subscribeMessage(to: "c\(channel)", socketID: client.socketID))
        }
        device.lasts = device.confirmed
        var processedCount = 0
        while processedCount < processedMax, device.confirmed != device.ends {
            let frame = try await client.client.next()
            guard frame.opcode == 1 else { continue }
            if frame.text.contains(#""pusher:ping""#) {
                try client.client.send(#"{"event":"pusher:pong","data":{}}"#)
                device.confirmed = device.lasts
                continue
            }
            guard case .event(let event) = try ServerMessage.parse(frame.payload.span),
                event.name == "e", let channel = event.channel.flatMap({ Int($0.dropFirst()) }),
                let number = event.data?.split(separator: " ").first.flatMap({ Int($0) })
            else { continue }
            // What was confirmed over an earlier connection does not come again, and all else does.
            #expect(number == device.lasts[channel] + 1)
            device.lasts[channel] = number
            processedCount += 1
        }
        device.connectionCount += 1
        // The broker reads the answers ahead of the end.
        client.client.wire.endSending()
        try await eventually { await broker.server.connectionCount == 0 }
    }

    @Test(
        "They catch up, each connection behind the last part that was processed over the one before",
        arguments: [
            Absence(messageCount: 120, dataLength: 10_000, processedMax: 20),
            Absence(messageCount: 1_500, processedMax: 500),
            Absence(channelCount: 40, messageCount: 30, processedMax: 450),
            Absence(channelCount: 3, messageCount: 500, dataLength: 300, processedMax: 300),
        ],
        [1, 3]
    )
    func catchUp(absence: Absence, loops: Int) async throws {
        try await TestBroker.run(loops: loops) {
            $0.apps[0].recovery.standard.messagesMax = 2_000
            $0.apps[0].recovery.standard.bytesMax = 4 << 20
        } _: { broker in
            await broker.knowsAllSessions()
            var device = try await absent(absence, from: broker)
            while device.confirmed != device.ends, device.connectionCount < 100 {
                try await connect(&device, processing: absence.processedMax, broker)
            }
            #expect(device.confirmed == device.ends)
            #expect(device.connectionCount > 2)
        }
    }

    @Test("A page that processes less than a part is asked once, behind it")
    func lessThanAPart() async throws {
        try await TestBroker.run { broker in
            await broker.knowsAllSessions()
            let absence = Absence(messageCount: 300, processedMax: 0)
            var device = try await absent(absence, from: broker)
            try await connect(&device, processing: 299, broker)
            #expect(device.confirmed == [0])
            try await connect(&device, processing: 301, broker)
            #expect(device.confirmed == [300])
        }
    }
}
