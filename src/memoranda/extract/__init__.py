"""From words to memories and facts: what reads a conversation and says what is in it."""
