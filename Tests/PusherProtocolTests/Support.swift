import PusherProtocol

/// Deterministic random numbers (SplitMix64): a failing seed can be printed and tried again.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

/// The credentials of the documentation's examples.
enum Example {
    static let key = "278d425bdf160c739803"
    static let secretText = "7ad3773142a6692b25b8"
    static let secret = AppSecret(secretText)
    static let socketID = SocketID(1234, 1234)
}

/// Parses a trigger and expects it to be refused.
func refusal(of body: String, limits: ProtocolLimits = ProtocolLimits()) -> APIError? {
    do throws(APIError) {
        _ = try TriggerRequest.parse(bytes(body).span, limits: limits)
        return nil
    } catch {
        return error
    }
}

/// Parses a batch and expects it to be refused.
func batchRefusal(of body: String) -> APIError? {
    do throws(APIError) {
        _ = try TriggerRequest.parseBatch(bytes(body).span)
        return nil
    } catch {
        return error
    }
}
