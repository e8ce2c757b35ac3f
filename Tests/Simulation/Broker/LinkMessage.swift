import Broker
import PusherProtocol
import Shard

/// A message between two shards, in transit.
package struct LinkMessage {
    /// The kind of a message.
    enum Subject: String {
        case subscribe, granted, restarted, refused, unsubscribe, publish, published, congestion,
            confirm,
            clientEvent, delivery, question, answer
        case user, report, termination, archive
        case claim, claimed, yield, handover, life
    }

    let message: ShardMessage

    /// The kind of the message.
    var subject: Subject {
        switch message {
        case .subscribe, .subscribeAsMember, .subscribeFrom: .subscribe
        case .granted: .granted
        case .restarted, .lost, .reconnect: .restarted
        case .refused: .refused
        case .unsubscribe: .unsubscribe
        case .publish: .publish
        case .published: .published
        case .congestion: .congestion
        case .confirm: .confirm
        case .publishClientEvent, .reply: .clientEvent
        case .fanOut, .fanOutWithReceipt: .delivery
        case .query, .listing(.ask), .delivery(.ask), .delivery(.confirm): .question
        case .answer, .listing(.portion), .delivery(.answer): .answer
        case .users(.terminate): .termination
        case .users(.report): .report
        case .users: .user
        case .sessions(.claim): .claim
        case .sessions(.answer): .claimed
        case .sessions(.yield), .sessions(.requestCheckpoint): .yield
        case .sessions(.handOver), .sessions(.checkpoint): .handover
        case .sessions(.isAlive), .sessions(.share): .life
        case .archive, .webhookSettled: .archive
        }
    }

    /// The channel of the message, if any.
    var channel: String? {
        switch message {
        case .subscribe(let address, _), .subscribeAsMember(let address, _, _),
            .subscribeFrom(_, let address, _, _), .granted(let address, _, _),
            .refused(let address, _, _), .restarted(let address, _, _),
            .unsubscribe(let address, _, _), .publish(let address, _, _),
            .congestion(let address, _, _), .publishClientEvent(let address, _, _),
            .fanOut(let address, _, _), .fanOutWithReceipt(let address, _, _, _),
            .confirm(let address), .lost(let address, _, _):
            address.name.text
        case .published, .reply, .query, .answer, .listing, .delivery, .users, .sessions,
            .archive, .reconnect, .webhookSettled:
            nil
        }
    }

    /// The text of a delivery; `nil` for any other message.
    var delivered: String? {
        switch message {
        case .fanOut(_, let message, _), .fanOutWithReceipt(_, let message, _, _):
            String(decoding: message.envelope.text, as: UTF8.self)
        default: nil
        }
    }

    /// A delivery without its exclusion; any other message unchanged.
    func withoutExclusion() -> LinkMessage {
        switch message {
        case .fanOut(let address, let message, _),
            .fanOutWithReceipt(let address, let message, _, _):
            LinkMessage(message: .fanOut(address, message, except: nil))
        default: self
        }
    }
}
