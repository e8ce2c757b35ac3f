public import FanfareAPI

extension MasterKey: EventSealer {
    /// The key of one channel as base64: what clients that are let into it get as `shared_secret`.
    public func sharedSecret(of channel: String) -> String { key(of: channel).base64 }
}
