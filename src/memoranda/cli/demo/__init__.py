"""The demo: its agent, its acts, and how they are shown."""
