import PusherProtocol

/// Why a client may not come in, or not stay: the code that it is closed with, and what is wrong.
struct Exclusion: Error {
    var code: PusherCode
    var message: String

    /// Excludes by a code that says enough.
    init(_ code: PusherCode) { self.init(code, code.message) }

    /// Excludes by a code, and says more.
    init(_ code: PusherCode, _ message: String) {
        self.code = code
        self.message = message
    }
}
