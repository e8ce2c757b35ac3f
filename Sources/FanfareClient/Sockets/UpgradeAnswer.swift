#if os(Linux)
    /// The head of a server's answer to the opening handshake (RFC 9112 §4, §5).
    struct UpgradeAnswer {
        /// The status code.
        let status: Int
        private var fields: [(name: String, value: String)] = []

        /// Where the head ends, behind its empty line; `nil` when that has not come yet.
        static func end(in bytes: Span<UInt8>) -> Int? {
            guard bytes.count >= 4 else { return nil }
            for index in 3..<bytes.count
            where bytes[index] == 0x0A && bytes[index - 1] == 0x0D && bytes[index - 2] == 0x0A
                && bytes[index - 3] == 0x0D
            {
                return index + 1
            }
            return nil
        }

        /// Reads a head, or returns `nil` if it is none of HTTP/1.1.
        init?(_ head: Span<UInt8>) {
            let bytes = head.withUnsafeBufferPointer { Array($0.dropLast(4)) }
            var lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false)[...]
            for index in lines.indices.dropLast() {
                guard lines[index].last == 0x0D else { return nil }
                lines[index].removeLast()
            }
            let start = lines.popFirst().map { String(decoding: $0, as: UTF8.self) } ?? ""
            let parts = start.split(
                separator: " ",
                maxSplits: 2,
                omittingEmptySubsequences: false
            )
            guard parts.count >= 2, parts[0] == "HTTP/1.1", parts[1].utf8.count == 3,
                let status = Int(parts[1]), (100...599).contains(status)
            else { return nil }
            self.status = status
            for line in lines {
                guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                    line[..<colon].allSatisfy({ $0 > 0x20 && $0 < 0x7F })
                else { return nil }
                let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
                var value = line[(colon + 1)...].drop(while: isSpace)
                while let last = value.last, isSpace(last) { value.removeLast() }
                fields.append(
                    (
                        String(decoding: line[..<colon], as: UTF8.self).lowercased(),
                        String(decoding: value, as: UTF8.self)
                    )
                )
            }
        }

        /// All values of a field, by its lower-case name.
        func values(of name: String) -> [String] {
            fields.filter { $0.name == name }.map(\.value)
        }
    }
#endif
