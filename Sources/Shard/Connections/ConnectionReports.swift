import Broker
import Net
import PusherProtocol

/// Reports of a client's refusals and frames to observers.
extension Connection {
    /// Reports that something was refused to the client.
    func report(_ subject: Refusal.Subject, _ effects: Session.Effects) {
        context.refused(of: app.id, refusal(of: subject, effects))
    }

    private func refusal(of subject: Refusal.Subject, _ effects: Session.Effects) -> Refusal {
        var refusal = Refusal(subject, reason: "")
        refusal.socketID = socketID
        refusal.address = stream.remoteAddress().map { "\($0)" }
        for effect in effects {
            switch effect {
            case .send(.subscriptionError(let channel, let type, let message, let status)):
                refusal.channel = channel
                (refusal.reason, refusal.code) = (message, status)
                if type == "AuthError" { refusal.advice = Self.signatureAdvice }
            case .send(.error(let code, let message)) where refusal.reason.isEmpty:
                (refusal.reason, refusal.code) = (message, code?.rawValue)
            case .close(let code, let message):
                (refusal.reason, refusal.code) = (message, code.rawValue)
            case .limitMet(let limit): refusal.limit = limit
            default: break
            }
        }
        if subject == .signIn, refusal.advice == nil, refusal.limit == nil {
            refusal.advice = Self.signatureAdvice
        }
        return refusal
    }

    private static var signatureAdvice: String {
        "the backend's authorization endpoint must sign with the key and secret of this app "
            + "(apps.N.key, apps.N.secret)"
    }

    /// Reports a message of the client.
    func trace(received text: Span<UInt8>) {
        let text = text.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        context.notify(.frames, of: app.id, .frame(.received(text, from: socketID)))
    }

    /// Reports a message to the client, as the log shows it.
    package func trace(sent text: String) {
        context.notify(.frames, of: app.id, .frame(.sent(text, to: socketID)))
    }
}
