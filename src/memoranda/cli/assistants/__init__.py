"""What assistants' programs need: their configuration files, their hooks, their transcripts."""
