"""What commands share: options, checks before a model opens, and what is printed."""
