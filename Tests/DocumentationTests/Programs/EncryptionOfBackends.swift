import FanfareEncryption

func encryptionOfBackends() throws {
    let masterKey = try MasterKey(base64: "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
    let channel = "private-encrypted-orders"
    // What the authorisation endpoint answers beside the signature.
    let sharedSecret = masterKey.key(of: channel).base64
    // What is triggered in place of the data.
    let data = masterKey.seal(#"{"id":7}"#, on: channel)
    print(sharedSecret, data)
}
