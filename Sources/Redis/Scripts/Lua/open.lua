-- The same as `publish`, but on the channels' current streams, whichever the caller knows; begins those that are missing.

return publishAll(true)
