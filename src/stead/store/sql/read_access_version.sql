-- The version of grants and policies: it rises with every change of them.
SELECT version FROM access
