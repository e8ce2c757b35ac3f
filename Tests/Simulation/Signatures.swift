import Digests

/// The HMAC-SHA256 of a text, in hexadecimal digits.
func sign(_ text: String, with secret: String) -> String {
    let (key, message) = (Array(secret.utf8), Array(text.utf8))
    return Hex.encode(HMACSHA256(key: key.span).code(for: message.span))
}

/// A text of plain characters as a JSON string.
func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
}
