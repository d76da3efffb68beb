"""What views share: the state they are opened in, the heads and tokens shown, labels, numbers."""
