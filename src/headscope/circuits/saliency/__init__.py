"""Which inputs mattered: gradients, integrated gradients, rollout and flow, and a test of them."""
