@testable import LiveCollections

extension TextWorld {
    /// Delivers all messages.
    mutating func settle() {
        for index in oldDevices.indices {
            while !oldDevices[index].posts.isEmpty { postOld(index) }
        }
        for index in devices.indices { connect(index) }
        for _ in 0..<60 {
            for index in devices.indices {
                for _ in 0..<4 {
                    send(index, false)
                    fetch(index, false)
                }
                while !devices[index].inbox.isEmpty {
                    let entry = devices[index].inbox.removeFirst()
                    show(devices[index].session.receive(entry), index)
                }
            }
        }
        // A last entry reveals a lost previous one; a real broker does not lose it.
        var last = TextDocument(replica: .random(using: &random), from: authority.snapshot)
        if let batch = try? last.replace(0..<0, with: "."), case .accepted = take(batch) {}
        for index in devices.indices {
            for entry in devices[index].inbox {
                show(devices[index].session.receive(entry), index)
            }
            for _ in 0..<8 {
                fetch(index, false)
                send(index, false)
            }
        }
        tellOldDevices()
        for index in oldDevices.indices {
            while !oldDevices[index].inbox.isEmpty { readOld(index) }
        }
    }

    /// Returns the devices whose text differs from the backend's.
    var divergences: [String] {
        var found: [String] = []
        let text = authority.document.string
        for (index, device) in devices.enumerated() {
            if device.session.document.string != text { found.append("device \(index) differs") }
            if device.view != text { found.append("the view of device \(index) differs") }
            if !device.session.unsent.isEmpty { found.append("device \(index) has unsent edits") }
        }
        for device in oldDevices where device.screen != text {
            found.append("\(device.name) differs")
        }
        return found
    }

    /// Returns typed scalars that are missing, restored or duplicated.
    var losses: [String] {
        var found: [String] = []
        var seen: Set<Unicode.Scalar> = []
        for scalar in authority.document.string.unicodeScalars
        where !seen.insert(scalar).inserted {
            found.append("\(scalar) is there twice")
        }
        let both = handedBack.intersection(seen)
        if !both.isEmpty { found.append("\(both.count) scalars are handed back and there") }
        let lost = typed.subtracting(deleted).subtracting(seen).subtracting(handedBack)
        if !lost.isEmpty { found.append("\(lost.count) typed scalars are lost") }
        // A refused deletion is reverted.
        guard !refusesBatches else { return found }
        let undead = seen.intersection(deletedExactly)
        if !undead.isEmpty { found.append("\(undead.count) deleted scalars are there again") }
        return found
    }
}
