import PusherProtocol

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
