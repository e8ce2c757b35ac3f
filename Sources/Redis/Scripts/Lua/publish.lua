-- Numbers, stores and announces messages: see publishing.lua.

return publishAll(false)
