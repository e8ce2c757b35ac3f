import Broker
import PusherProtocol

/// Operations on the connections of a broker: the first byte chooses limits and features, then each operation is a byte
/// with its arguments.
///
/// ``ModelBroker`` connects the broker's values as shards do, without sockets, and tracks the expected state in plain
/// sets.
enum BrokerFuzzing {
    static func run(_ input: [UInt8]) throws(Finding) {
        var choices = Choices(input)
        var broker = ModelBroker(options: choices.byte())
        while !choices.isEmpty {
            try operate(&broker, &choices)
            try broker.check()
        }
        try broker.endAll()
    }

    private static func operate(
        _ broker: inout ModelBroker,
        _ choices: inout Choices
    ) throws(Finding) {
        let operation = choices.byte()
        let client = Int(operation >> 4)
        switch operation & 0x0F {
        case 0: broker.open(client)
        case 1: try broker.close(client)
        case 2, 3: try broker.subscribe(client, choices.byte(), as: choices.byte())
        case 4: try broker.receive(.unsubscribe(channel: channel(choices.byte())), client)
        case 5: try broker.deliver(from: choices.byte())
        case 6: try broker.deliverAll()
        case 7: try broker.sendClientEvent(client, choices.byte())
        case 8: try broker.trigger(choices.byte(), except: client, value: choices.byte())
        case 9: try broker.signIn(client, as: choices.byte(), watching: choices.byte())
        case 10: try broker.advance(by: Int64(choices.byte()) * 50)
        case 11: try broker.receive(choices.bytes(), client)
        case 12: try broker.receive(.ping, client)
        case 13: try broker.receive(.unsupported(event: "pusher:nothing"), client)
        case 14: broker.expire()
        default: try broker.settle()
        }
    }

    /// One of few names, so that connections interact.
    static func channel(_ choice: UInt8) -> String {
        let names = [
            "news", "cache-news", "private-room", "private-cache-room", "presence-hall",
            "presence-cache-hall", "#server-to-user-u1", "private-encrypted-box", "not a name",
        ]
        return names[Int(choice) % names.count]
    }
}
