import PusherProtocol
import Testing

@testable import Broker

@Suite("A client's subscriptions") struct SubscriptionsTests {
    /// Compares the table with a plain dictionary over random operations.
    @Test func agreeWithADictionary() throws {
        var subscriptions = Subscriptions()
        var model: [ChannelName: UInt32] = [:]
        var random = SystemRandomNumberGenerator()
        let names = try (0..<6).map { try ChannelName("channel-\($0)") }
        for request in UInt32(0)..<2_000 {
            let name = try #require(names.randomElement(using: &random))
            if Bool.random(using: &random) {
                subscriptions.put(name, .awaited(request: request, tracks: false))
                model[name] = request
            } else {
                #expect(subscriptions.remove(name) == (model.removeValue(forKey: name) != nil))
            }
            #expect(subscriptions.count == model.count)
            #expect(Set(subscriptions.channels) == Set(model.keys))
            for name in names {
                guard case .awaited(let found, _) = subscriptions[name] else {
                    #expect(model[name] == nil && subscriptions[name] == nil)
                    continue
                }
                #expect(model[name] == found)
            }
        }
    }

    @Test func replaceInPlace() throws {
        var subscriptions = Subscriptions()
        let (one, other) = (try ChannelName("one"), try ChannelName("other"))
        for name in [one, other] {
            subscriptions.put(name, .awaited(request: 1, tracks: false))
            subscriptions.put(name, .active(isTracked: false))
        }
        #expect(subscriptions.count == 2)
        for name in [one, other] {
            guard case .active = subscriptions[name] else {
                Issue.record("\(name) is not active")
                continue
            }
        }
    }
}
