"""Numbers per head, however they are handed over, as the table a view is sent with."""
