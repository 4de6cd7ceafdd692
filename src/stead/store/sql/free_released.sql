-- Let orders go on whose members were released.
SELECT free_released() AS freed
