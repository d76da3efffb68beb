"""How each kind of input is read: texts, conversations, written answers, pictures, sounds."""
