import Broker
import FanfareServer
import PusherProtocol

/// A message between two shards, in transit.
package struct LinkMessage {
    /// The kind of a message.
    enum Subject: String {
        case subscribe, granted, refused, unsubscribe, publish, published, congestion, confirm,
            clientEvent, delivery, question, answer
        case user, report, termination
    }

    let message: ShardMessage

    /// The kind of the message.
    var subject: Subject {
        switch message {
        case .subscribe, .subscribeAsMember: .subscribe
        case .granted: .granted
        case .refused: .refused
        case .unsubscribe: .unsubscribe
        case .publish: .publish
        case .published: .published
        case .congestion: .congestion
        case .confirm: .confirm
        case .publishClientEvent, .reply: .clientEvent
        case .fanOut: .delivery
        case .query, .listing(.ask): .question
        case .answer, .listing(.portion): .answer
        case .users(.terminate): .termination
        case .users(.report): .report
        case .users: .user
        }
    }

    /// The channel of the message, if any.
    var channel: String? {
        switch message {
        case .subscribe(let address, _), .subscribeAsMember(let address, _, _),
            .granted(let address, _, _), .refused(let address, _, _),
            .unsubscribe(let address, _, _), .publish(let address, _, _),
            .congestion(let address, _, _), .publishClientEvent(let address, _, _),
            .fanOut(let address, _, _), .confirm(let address):
            address.name.text
        case .published, .reply, .query, .answer, .listing, .users: nil
        }
    }

    /// The text of a delivery; `nil` for any other message.
    var delivered: String? {
        guard case .fanOut(_, let frame, _) = message else { return nil }
        return String(decoding: frame.bytes, as: UTF8.self)
    }

    /// A delivery without its exclusion; any other message unchanged.
    func withoutExclusion() -> LinkMessage {
        guard case .fanOut(let address, let frame, _) = message else { return self }
        return LinkMessage(message: .fanOut(address, frame, except: nil))
    }
}
