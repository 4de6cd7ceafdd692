-- The streams that there are now; others than before begin a new epoch of the bus. A new cell had none before.
UPDATE cell SET bus_epoch = bus_epoch + (bus_identity NOT IN ('', $1))::int, bus_identity = $1 RETURNING bus_epoch
