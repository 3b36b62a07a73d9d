"""From a syntax tree to tables: names resolved, types checked, clauses as rows."""
