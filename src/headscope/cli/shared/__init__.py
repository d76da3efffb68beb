"""Options, early checks and printing that commands share."""
