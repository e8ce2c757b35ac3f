import CLua

/// The stack of a Lua state, on which values pass between Redis and a script as they do in RESP2.
struct LuaStack {
    let state: OpaquePointer

    // MARK: From Redis

    func push(_ string: ByteString) {
        string.bytes.withUnsafeBytes { bytes in
            lua_pushlstring(state, bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
        }
    }

    /// Pushes a reply: null is false, a status or an error is a table with one field.
    func push(_ reply: RESPValue) {
        switch reply {
        case .integer(let number): lua_pushnumber(state, Double(number))
        case .bulk(let string), .verbatim(let string): push(string)
        case .null: lua_pushboolean(state, 0)
        case .simpleString(let text): pushTable("ok", text)
        case .error(let text): pushTable("err", text)
        case .list(_, let elements): pushTable(elements) { push($0) }
        }
    }

    func push(_ strings: some Collection<ByteString>) { pushTable(strings) { push($0) } }

    private func pushTable<Element>(
        _ elements: some Collection<Element>,
        _ pushElement: (Element) -> Void
    ) {
        lua_createtable(state, Int32(elements.count), 0)
        var index: Int32 = 0
        for element in elements {
            index += 1
            pushElement(element)
            lua_rawseti(state, -2, index)
        }
    }

    private func pushTable(_ field: String, _ text: ByteString) {
        lua_createtable(state, 0, 1)
        push(text)
        lua_setfield(state, -2, field)
    }

    // MARK: From scripts

    /// Converts the last value to a reply: numbers lose their fraction, and a table ends before its first nil.
    var reply: RESPValue {
        switch lua_type(state, -1) {
        case LUA_TSTRING: return .bulk(string(at: -1))
        case LUA_TNUMBER: return .integer(Self.integer(lua_tonumber(state, -1)))
        case LUA_TBOOLEAN: return lua_toboolean(state, -1) == 0 ? .null : .integer(1)
        case LUA_TTABLE: break
        default: return .null
        }
        if let text = field("err") { return .error(text) }
        if let text = field("ok") { return .simpleString(text) }
        var elements: [RESPValue] = []
        while true {
            lua_rawgeti(state, -1, Int32(elements.count + 1))
            defer { lua_settop(state, -2) }
            guard lua_type(state, -1) != LUA_TNIL else { return .array(elements) }
            elements.append(self.reply)
        }
    }

    /// A field of the last value; nil if that is no table, or this no string.
    func field(_ name: String) -> ByteString? {
        guard lua_type(state, -1) == LUA_TTABLE else { return nil }
        lua_pushstring(state, name)
        lua_rawget(state, -2)
        defer { lua_settop(state, -2) }
        return lua_isstring(state, -1) != 0 ? string(at: -1) : nil
    }

    /// The name and the arguments of a command, which are all that is on the stack; nil if one is neither a string nor a number.
    var command: [ByteString]? {
        var words: [ByteString] = []
        let count = lua_gettop(state)
        words.reserveCapacity(Int(count))
        for index in stride(from: 1, through: count, by: 1) {
            switch lua_type(state, index) {
            case LUA_TSTRING: words.append(string(at: index))
            case LUA_TNUMBER: words.append(Self.text(lua_tonumber(state, index)))
            default: return nil
            }
        }
        return words
    }

    /// The bytes of a string; those of a number as Lua writes it.
    private func string(at index: Int32) -> ByteString {
        var count = 0
        let bytes = UnsafeRawPointer(lua_tolstring(state, index, &count))
        return ByteString(Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    }

    /// A number as an argument of a command, with all of its digits.
    private static func text(_ number: Double) -> ByteString {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { text in
            let count = shim_lua_format(text.baseAddress, text.count, number)
            return ByteString(Array(UnsafeRawBufferPointer(text).prefix(Int(count))))
        }
    }

    /// As C converts on x86-64, also where C does not define it.
    private static func integer(_ number: Double) -> Int64 {
        abs(number) < 0x1p63 ? Int64(number) : .min
    }
}
