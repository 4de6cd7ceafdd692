"""Operations on groups: their members, counts, and expansion into operations of members."""
