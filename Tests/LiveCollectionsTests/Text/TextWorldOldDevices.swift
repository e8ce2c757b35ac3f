@testable import LiveCollections

/// The clients that post and receive whole texts.
extension TextWorld {
    mutating func oldStep() {
        if Int.random(in: 0..<3, using: &random) == 0 { return tellOldDevices() }
        guard let index = oldDevices.indices.randomElement(using: &random) else { return }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: editOld(index)
        case 1: postOld(index)
        default: readOld(index)
        }
    }

    /// Delivers whole texts late, but within the latency that the bridge allows.
    mutating func deliverOld() {
        for index in oldDevices.indices {
            while let first = oldDevices[index].posts.first, first.time < now - .milliseconds(400) {
                postOld(index)
            }
            while let first = oldDevices[index].inbox.first, first.time < now - .milliseconds(400) {
                readOld(index)
            }
        }
    }

    mutating func editOld(_ index: Int) {
        // It posts at each keystroke, so the changes between two posts are small.
        let units = Array(oldDevices[index].screen.unicodeScalars)
        var range = randomRange(in: units.count)
        range = range.lowerBound..<min(range.upperBound, range.lowerBound + 1)
        let typed = range.isEmpty ? randomText() : ""
        note(typed: typed, deleted: Array(units[range]), isExact: false)
        var changed = String.UnicodeScalarView(units[..<range.lowerBound])
        changed.append(contentsOf: typed.unicodeScalars)
        changed.append(contentsOf: units[range.upperBound...])
        oldDevices[index].screen = String(changed)
        oldDevices[index].posts.append((now, oldDevices[index].screen))
    }

    mutating func postOld(_ index: Int) {
        guard !oldDevices[index].posts.isEmpty else { return }
        let (_, text) = oldDevices[index].posts.removeFirst()
        let name = oldDevices[index].name
        guard let entries = try? authority.takeWholeText(text, from: name, at: now) else { return }
        publish(entries)
    }

    mutating func tellOldDevices() {
        guard let update = authority.wholeTextUpdate(by: "backend", at: now) else { return }
        for index in oldDevices.indices {
            oldDevices[index].inbox.append((now, update.text, update.device))
        }
    }

    mutating func readOld(_ index: Int) {
        guard !oldDevices[index].inbox.isEmpty else { return }
        let (_, text, device) = oldDevices[index].inbox.removeFirst()
        if device != oldDevices[index].name { oldDevices[index].screen = text }
    }
}
