-- Let orders go on whose members were released.
SELECT resume_orders() AS freed
