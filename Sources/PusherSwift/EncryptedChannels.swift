internal import FanfareClient

#if canImport(FanfareEncryption)
    import FanfareEncryption
#endif

/// What opens the events of encrypted channels, where libsodium is at hand.
enum EncryptedChannels {
    #if canImport(FanfareEncryption)
        static let decrypter: (any EventDecrypter)? = SecretBoxDecrypter()
    #else
        /// An app sets one in ``PusherClientOptions/configure``.
        static let decrypter: (any EventDecrypter)? = nil
    #endif
}
