import Broker
import PusherProtocol
import Shard

/// The state of an injected bug.
struct SessionFault {
    let variant: SessionVariant
    private var firstHandovers: [SessionKey: [SessionCursor]] = [:]
    /// The last number that a home has sent to another shard, of each channel.
    private var lastSerials: [ChannelName: UInt64] = [:]

    init(_ variant: SessionVariant) { self.variant = variant }

    /// Applies the bug to a message in transit; `nil` if it does not arrive.
    mutating func tamper(_ message: LinkMessage, in world: SessionWorld) -> LinkMessage? {
        if case .fanOut(let address, let frame, _) = message.message, frame.serial > 0 {
            lastSerials[address.name] = frame.serial
        }
        return switch message.message {
        case .sessions(.isAlive) where variant == .sharedUntold: nil
        case .sessions(.handOver(let handover)):
            tamper(handover, in: world).map { LinkMessage(message: .sessions(.handOver($0))) }
        case .sessions(.answer(.owned(var resumption), let address, let id)):
            {
                let isUntold =
                    variant == .unknownTakenForNew && !world.hasEvicted
                    || variant == .evictionUntold && world.hasEvicted
                if isUntold { resumption.mayLackCursors = false }
                return LinkMessage(
                    message: .sessions(.answer(.owned(resumption), address, to: id))
                )
            }()
        case .subscribeFrom(var position, let address, let request, let member)
        where variant == .forgottenExclusion:
            {
                position.formerSocketIDs = []
                return LinkMessage(
                    message: .subscribeFrom(position, address, request, member)
                )
            }()
        default: message
        }
    }

    private mutating func tamper(
        _ handover: SessionHandover,
        in world: SessionWorld
    ) -> SessionHandover? {
        var handover = handover
        switch variant {
        case .lostYield: return nil
        case .latePark:
            let key = handover.address.key
            if let first = firstHandovers[key] {
                handover.cursors = first
            } else {
                firstHandovers[key] = handover.cursors
            }
        case .unknownToldOnce: handover.mayLackCursors = false
        case .owedGapForgotten:
            for index in handover.cursors.indices { handover.cursors[index].owedGap = nil }
        case .owedOpeningForgotten:
            for index in handover.cursors.indices { handover.cursors[index].owesOpening = false }
        case .droppedTakenForConfirmed where world.isStalled(handover.socketID):
            for index in handover.cursors.indices {
                let cursor = handover.cursors[index]
                handover.cursors[index].position = ChannelPosition(
                    stream: cursor.position.stream,
                    serial: max(cursor.position.serial, lastSerials[cursor.channel] ?? 0)
                )
            }
        case .cursorTooHigh:
            for index in handover.cursors.indices {
                let position = handover.cursors[index].position
                handover.cursors[index].position = ChannelPosition(
                    stream: position.stream,
                    serial: position.serial + 1
                )
            }
        default: break
        }
        return handover
    }
}

extension SessionWorld {
    /// Whether a connection belongs to a device that has stopped reading.
    fileprivate func isStalled(_ socketID: SocketID) -> Bool {
        devices.contains {
            $0.connection?.isStalled == true && $0.connection?.socketID == socketID.description
        }
    }
}
