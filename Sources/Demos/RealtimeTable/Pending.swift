import HTTP1
struct HTTPRequest: Sendable {
    var method: Method
    var path: String
    var fields: [Field] = []
    var body: [UInt8] = []
    func field(_ name: String) -> String? { fields.first { $0.name.lowercased() == name }?.value }
}
