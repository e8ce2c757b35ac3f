import Net
import PusherProtocol
import WebSocket

/// The presence channels of a ``FaultyBroker``, with the faults of notices.
final class FaultyPresence {
    private let fault: BrokerFault
    private var members: [(stream: Stream, channel: String, userID: String)] = []
    private var noticeCount = 0

    init(_ fault: BrokerFault) { self.fault = fault }

    /// Adds a member; notifies the others if the user is new.
    func join(_ stream: Stream, _ channel: String, _ data: String) {
        guard let userID = Self.userID(in: data) else { return stream.abort() }
        let isNew = !members.contains { $0.channel == channel && $0.userID == userID }
        if isNew { notify(.memberAdded(channel: channel, userID: userID, userInfo: nil), channel) }
        members.append((stream, channel, userID))
        // The acknowledgement contains user IDs as notices do, but is not a notice.
        let ids = members.map { #""\#($0.userID)""# }.joined(separator: ",")
        let presence = #"{"presence":{"ids":[\#(ids)],"hash":{},"count":\#(members.count)}}"#
        send(.subscriptionSucceeded(channel: channel, data: presence), stream)
    }

    /// Removes a member; notifies the others if it was the last of its user.
    func leave(_ stream: Stream, _ channel: String) {
        let index = members.firstIndex { $0.stream === stream && $0.channel == channel }
        guard let index else { return }
        let userID = members.remove(at: index).userID
        guard !members.contains(where: { $0.channel == channel && $0.userID == userID }) else {
            return
        }
        notify(.memberRemoved(channel: channel, userID: userID), channel)
    }

    private func notify(_ message: ServerMessage, _ channel: String) {
        defer { noticeCount += members.isEmpty ? 0 : 1 }
        for (index, member) in members.enumerated() where member.channel == channel {
            switch fault {
            case .losesNotice(noticeCount) where index == 0: break
            case .duplicatesNotice(noticeCount) where index == 0:
                for _ in 0..<2 { send(message, member.stream) }
            default: send(message, member.stream)
            }
        }
    }

    private func send(_ message: ServerMessage, _ stream: Stream) {
        let text = message.bytes
        stream.write(FrameEncoder.frame(.text, payload: text.span))
    }

    /// The user ID in the data.
    private static func userID(in data: String) -> String? {
        guard data.hasPrefix(#"{"user_id":""#), data.hasSuffix(#""}"#) else { return nil }
        return String(data.dropFirst(12).dropLast(2))
    }
}
