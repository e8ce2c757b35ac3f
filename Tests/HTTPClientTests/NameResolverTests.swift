import Dispatch
import Synchronization
import Testing

@testable import HTTPClient
@testable import Net

/// A number that a test changes while a look-up reads it.
final class Place: Sendable {
    private let number = Atomic(0)

    var value: Int {
        get { number.load(ordering: .acquiring) }
        set { number.store(newValue, ordering: .releasing) }
    }

    func increment() { number.wrappingAdd(1, ordering: .acquiringAndReleasing) }
}

@Suite("Name resolution", .timeLimit(.minutes(1))) struct NameResolverTests {
    private static let name = NameResolver.Name(host: "backend.test", port: 80)

    private static func address() throws -> SocketAddress {
        try #require(SocketAddress(ip: "192.0.2.1", port: 80))
    }

    @Test("An IP address needs no look-up", arguments: ["127.0.0.1", "::1"])
    func addressesInNumbers(host: String) async throws {
        let count = Place()
        let resolver = NameResolver { _ in
            count.increment()
            return []
        }
        let name = NameResolver.Name(host: host, port: 7)
        let addresses = try await resolver.addresses(of: name, within: .seconds(1))
        #expect(addresses == [try #require(SocketAddress(ip: host, port: 7))])
        #expect(count.value == 0)
    }

    @Test("An address is cached for its lifetime, unless removed") func lifetime() async throws {
        let address = try Self.address()
        let count = Place()
        let resolver = NameResolver(lifetime: .seconds(3_600)) { _ in
            count.increment()
            return [address]
        }
        for _ in 0..<3 {
            #expect(try await resolver.addresses(of: Self.name, within: .seconds(20)) == [address])
        }
        #expect(count.value == 1)
        resolver.forget(Self.name)
        _ = try await resolver.addresses(of: Self.name, within: .seconds(20))
        #expect(count.value == 2)
    }

    @Test("Concurrent requests for a name share one look-up") func sharing() async throws {
        let address = try Self.address()
        let count = Place()
        let gate = DispatchSemaphore(value: 0)
        let resolver = NameResolver { _ in
            count.increment()
            gate.wait()
            return [address]
        }
        try await withThrowingTaskGroup(of: [SocketAddress].self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await resolver.addresses(of: Self.name, within: .seconds(20))
                }
            }
            while resolver.waitingCount(for: Self.name) < 20 { await Task.yield() }
            gate.signal()
            for try await addresses in group { #expect(addresses == [address]) }
        }
        #expect(count.value == 1)
    }

    @Test("Times out") func timeout() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let resolver = NameResolver { _ in
            gate.wait()
            return []
        }
        let failure = await #expect(throws: HTTPFailure.self) {
            try await resolver.addresses(of: Self.name, within: .milliseconds(10))
        }
        #expect(failure?.description == "no answer to the look-up of backend.test in time")
    }

    @Test("Is cancelled with its task") func cancellation() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        let resolver = NameResolver { _ in
            gate.wait()
            return []
        }
        let task = Task { try await resolver.addresses(of: Self.name, within: .seconds(3_600)) }
        while resolver.waitingCount(for: Self.name) < 1 { await Task.yield() }
        task.cancel()
        await #expect(throws: HTTPFailure.cancelled(mayHaveArrived: false)) {
            try await task.value
        }
    }

    @Test("A failed look-up is reported, and repeated next time") func failure() async throws {
        let count = Place()
        let resolver = NameResolver { name throws(ResolveError) in
            count.increment()
            throw ResolveError(host: name.host, code: -2)
        }
        for _ in 0..<2 {
            let failure = await #expect(throws: HTTPFailure.self) {
                try await resolver.addresses(of: Self.name, within: .seconds(20))
            }
            #expect(failure?.description.contains("backend.test") == true)
        }
        #expect(count.value == 2)
    }
}
