extension ScriptInterpreter {
    /// Makes, in Lua, the globals of scripts from those of the interpreter; returns them, and what describes errors.
    static let sandbox = """
        local globals, debug = _G, debug

        function redis.error_reply(text)
            text = string.gsub(text, '^%-', '')
            return { err = string.find(text, ' ', 1, true) and text or 'ERR ' .. text }
        end

        function redis.status_reply(text) return { ok = text } end

        for _, name in ipairs({
            'collectgarbage', 'coroutine', 'debug', 'dofile', 'gcinfo', 'getfenv', 'load', 'loadfile',
            'loadstring', 'module', 'newproxy', 'pcall', 'print', 'require', 'setfenv', 'xpcall',
        }) do globals[name] = nil end
        math.random, math.randomseed = nil, nil

        -- A table in the place of another, which scripts can read alone.
        local function readOnly(contents)
            return setmetatable({}, {
                __index = contents,
                __newindex = function() error('Attempt to modify a readonly table', 2) end,
                __metatable = false,
            })
        end

        local environment = readOnly(globals)
        for _, name in ipairs({ 'math', 'redis', 'string', 'table' }) do
            globals[name] = readOnly(globals[name])
        end
        globals._G = environment
        setmetatable(globals, {
            __index = function(_, name)
                error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
            end,
        })

        -- The failure as a table, with the place in the script.
        local function describe(failure)
            local place, level
            repeat
                level = (level or 1) + 1
                place = debug.getinfo(level, 'Sl')
            until not place or place.source == '@user_script'
            if type(failure) ~= 'table' then failure = { err = 'ERR ' .. tostring(failure) } end
            if place then failure.source, failure.line = place.source, place.currentline end
            return failure
        end

        return environment, describe
        """
}
