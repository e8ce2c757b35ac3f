import FanfareClient

/// Decrypts data of the form `KEY:` and a reversed text.
struct ReversingDecrypter: EventDecrypter {
    func open(_ data: String, sharedSecret: String) throws(DecryptionFailure) -> String {
        guard let colon = data.firstIndex(of: ":") else { throw .malformed("there is no colon") }
        guard data[..<colon] == sharedSecret else { throw .wrongKey }
        return String(data[data.index(after: colon)...].reversed())
    }
}
