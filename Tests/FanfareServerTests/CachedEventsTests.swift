import Broker
import Net
import PusherProtocol
import Testing

@testable import FanfareServer

@Suite("The cached events of a shard") struct CachedEventsTests {
    @Test("The sweep runs while something is kept, and then no more")
    func sweeps() throws {
        let reactor = try Reactor(loop: try EventLoop(name: "test"))
        defer { reactor.shutDown() }
        let events = CachedEvents(reactor: reactor, sweepInterval: .milliseconds(5))
        #expect(events.isAtRest)
        let address = ChannelAddress(app: AppID("1"), name: try ChannelName("cache-a"))
        let body = Array(#"{"name":"e","channel":"cache-a","data":"1"}"#.utf8)
        let publication = try TriggerRequest.parse(body.span)
        for lifetime in [20, 40] as [Int64] {
            events.store(publication, on: address, lifetime: lifetime, eventsMax: 10)
            #expect(!events.isAtRest)
            let deadline = ContinuousClock.now + .seconds(20)
            while !events.isAtRest, ContinuousClock.now < deadline {
                reactor.poll(atMost: .milliseconds(100))
            }
            #expect(events.isAtRest && events.event(on: address) == nil)
        }
    }
}
