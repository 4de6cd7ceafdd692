-- What the cell knows of itself.
SELECT incarnation, bus_epoch, bus_identity, last_position FROM cell
