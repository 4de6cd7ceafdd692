SELECT clear_flags(r, was_lost => true) FROM unnest($1::text[]) r
