import CLua

/// The Lua interpreter of one server, whose scripts have what Redis gives them.
///
/// No library reads the time, files or random numbers, so a script depends on its keys, its arguments and the data alone.
/// As in Redis, a script cannot change what others find: globals and libraries are read only.
///
/// Not thread-safe: each server has an interpreter of its own (see `ModelServer.ownInterpreter()`).
final class ScriptInterpreter: @unchecked Sendable {
    private let state: OpaquePointer
    /// References to what the sandbox makes: the globals of scripts, and what describes errors.
    private var (environment, handler): (Int32, Int32) = (0, 0)
    /// References to the compiled scripts, by their digests.
    private var functions: [String: Int32] = [:]
    /// The server that calls the script which runs.
    private var server: UnsafeMutablePointer<ModelServer>?

    init() {
        guard let state = luaL_newstate() else { fatalError("no memory for Lua") }
        self.state = state
        let libraries: [(name: String, open: lua_CFunction)] = [
            ("", luaopen_base), ("table", luaopen_table), ("string", luaopen_string),
            ("math", luaopen_math), ("debug", luaopen_debug),
        ]
        for library in libraries {
            lua_pushcclosure(state, library.open, 0)
            lua_pushstring(state, library.name)
            lua_call(state, 1, 0)
        }
        lua_createtable(state, 0, 4)
        for (name, raises) in [("call", true), ("pcall", false)] {
            let context = Unmanaged.passUnretained(self).toOpaque()
            shim_lua_pushcommand(state, Self.execute, context, raises)
            lua_setfield(state, -2, name)
        }
        lua_setfield(state, LUA_GLOBALSINDEX, "redis")
        precondition(luaL_loadstring(state, Self.sandbox) == 0, "the sandbox has a syntax error")
        lua_call(state, 0, 2)
        handler = luaL_ref(state, LUA_REGISTRYINDEX)
        environment = luaL_ref(state, LUA_REGISTRYINDEX)
    }

    deinit { lua_close(state) }

    /// Compiles a script, unless it is.
    func compile(_ script: Script, _ digest: String) throws(Script.Refusal) {
        guard functions[digest] == nil else { return }
        let status = script.body.bytes.withUnsafeBytes { bytes in
            luaL_loadbuffer(
                state,
                bytes.bindMemory(to: CChar.self).baseAddress,
                bytes.count,
                "@user_script"
            )
        }
        guard status == 0 else {
            let text = LuaStack(state: state).reply.string ?? ""
            lua_settop(state, 0)
            throw Script.Refusal(text: "ERR Error compiling script (new function): \(text)")
        }
        lua_rawgeti(state, LUA_REGISTRYINDEX, environment)
        lua_setfenv(state, -2)
        functions[digest] = luaL_ref(state, LUA_REGISTRYINDEX)
    }

    /// Runs a compiled script.
    ///
    /// - Parameters:
    ///   - digest: The script's.
    ///   - keys: What it finds in `KEYS`.
    ///   - arguments: What it finds in `ARGV`.
    ///   - server: What executes its commands.
    /// - Returns: Its reply.
    func run(
        _ digest: String,
        _ keys: some Collection<ByteString>,
        _ arguments: some Collection<ByteString>,
        on server: UnsafeMutablePointer<ModelServer>
    ) -> RESPValue {
        guard let function = functions[digest] else { return .error("ERR it is not compiled") }
        self.server = server
        defer {
            self.server = nil
            lua_settop(state, 0)
        }
        let stack = LuaStack(state: state)
        stack.push(keys)
        lua_setfield(state, LUA_GLOBALSINDEX, "KEYS")
        stack.push(arguments)
        lua_setfield(state, LUA_GLOBALSINDEX, "ARGV")
        lua_rawgeti(state, LUA_REGISTRYINDEX, handler)
        lua_rawgeti(state, LUA_REGISTRYINDEX, function)
        guard lua_pcall(state, 0, 1, -2) != 0 else { return stack.reply }
        let text = stack.field("err") ?? "ERR unknown error"
        guard let source = stack.field("source"), let line = stack.field("line") else {
            return .error(text)
        }
        return .error("\(text) script: \(digest), on \(source):\(line).")
    }

    /// Executes the command on the stack in the context of an interpreter.
    private static let execute: shim_lua_command = { _, context in
        guard let context else { return false }
        return Unmanaged<ScriptInterpreter>.fromOpaque(context).takeUnretainedValue().execute()
    }

    private func execute() -> Bool {
        let stack = LuaStack(state: state)
        var reply = RESPValue.error(
            "ERR Lua redis lib command arguments must be strings or integers"
        )
        if let command = stack.command {
            reply =
                command.isEmpty
                ? .error("ERR Please specify at least one argument for this redis lib call")
                : server?.pointee.call(command) ?? .null
        }
        stack.push(reply)
        return reply.isError
    }
}
