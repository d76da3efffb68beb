"""One head, several behaviours: its positions clustered by what its queries and keys match."""
