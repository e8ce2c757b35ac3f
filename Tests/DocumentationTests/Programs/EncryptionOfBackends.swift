import FanfareEncryption

func encryptionOfBackends() throws {
    let masterKey = try MasterKey(base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let channel = "private-encrypted-orders"
    // The shared_secret of the authorisation endpoint's response.
    let sharedSecret = masterKey.key(of: channel).base64
    // The data to trigger.
    let data = masterKey.seal(#"{"id":7}"#, on: channel)
    print(sharedSecret, data)
}
