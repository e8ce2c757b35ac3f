import Foundation

/// Returns JSON with sorted keys, so that texts can be compared.
package func sorted(_ json: String) throws -> String {
    let value = try JSONSerialization.jsonObject(
        with: Data(json.utf8),
        options: .fragmentsAllowed
    )
    let data = try JSONSerialization.data(
        withJSONObject: value,
        options: [.sortedKeys, .fragmentsAllowed, .withoutEscapingSlashes]
    )
    return String(decoding: data, as: UTF8.self)
}
