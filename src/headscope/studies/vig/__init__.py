"""The parts of the study of the seven patterns."""
