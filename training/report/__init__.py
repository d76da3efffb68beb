"""Tables and figures of the bundled model's page and card."""
